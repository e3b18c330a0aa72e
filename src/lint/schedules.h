#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "adversary/probes.h"
#include "adversary/schedule.h"

// The schedules of requests with which lint finds out what a limiter does, and what the answers to
// them say in words. conduct.cc and figures.cc judge such answers; cli/commands/lint says how
// schedules reach a script or a program.

namespace rlctl::lint {

using adversary::allowed_from, adversary::Ask;

/// When schedules begin: early in a window of the clock, at a time with six decimals.
std::chrono::microseconds start_of_traffic(std::chrono::microseconds window);
inline constexpr std::chrono::microseconds kSecond{1'000'000};
/// Schedules stay this far from the end of a TTL, so that neither its whole milliseconds nor a
/// limiter's rounding matter.
inline constexpr std::chrono::microseconds kTtlStep{20'000};
/// How many requests to send at one instant to learn how many a limiter allows: twice its limit or
/// burst, and two more.
std::int64_t requests_at_once(const limiter::Limit& limit);
/// The shortest gap between two instants, for this window.
std::chrono::microseconds shortest_gap(std::chrono::microseconds window);

/// The schedule with `count` more requests.
adversary::Schedule joined(adversary::Schedule schedule, std::chrono::microseconds at,
                           std::int64_t cost, std::size_t count = 1);
/// Whether a request costs more or less than 1, which a limiter may refuse with an error.
bool has_cost_other_than_1(const adversary::Schedule& schedule);

/// "5 of 6 allowed at 0 s, 0 of 31 each 2 s from 2 s to 62 s", from the first request on.
std::string schedule_text(const adversary::Schedule& schedule, const adversary::Answers& answers);

/// The requests of one cost that reach the limit.
struct Fill {
  /// The fewest at one instant, or one tick apart, of which the last is denied.
  adversary::Schedule schedule = {};
  /// After which a client is let in that sends nothing; std::nullopt if it never is.
  std::optional<std::chrono::microseconds> wait = {};
};

}  // namespace rlctl::lint
