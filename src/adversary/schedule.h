#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "limiter/limit.h"

namespace rlctl::adversary {

using std::chrono::microseconds;

/// The time of each request by the sender's clock, in sending order. If a time is earlier than the
/// one before it, the clock has stepped back.
using Schedule = std::vector<microseconds>;

/// How a limiter answered one request.
struct Answer {
  bool allowed = false;
  microseconds delay{0};  ///< how long the request waits before it proceeds
  bool operator==(const Answer&) const = default;
};
/// One for each request of a schedule.
using Answers = std::vector<Answer>;

/// Consecutive requests at the same time.
struct Instant {
  microseconds at{0};
  std::size_t first = 0;  ///< the index of the first request
  std::size_t count = 0;
};
[[nodiscard]] std::vector<Instant> instants_of(const Schedule& schedule);

[[nodiscard]] bool steps_back(const Schedule& schedule);

/// How a limiter fails under a schedule, measured as if time never went back: no request is earlier
/// than those before it. A request allowed with a delay counts when it may proceed.
struct Score {
  std::int64_t worst = 0;      ///< the most units allowed within one window
  microseconds worst_from{0};  ///< the start of the first span that held that many
  microseconds worst_span{0};
  /// Requests that were denied although an exact log of the allowed ones would have allowed them,
  /// both by the sender's clock and by a clock that never goes back.
  std::vector<std::size_t> wrongly_denied = {};
};
[[nodiscard]] Score score_of(const Schedule& schedule, const Answers& answers,
                             const limiter::Limit& limit, std::int64_t cost);

/// Durations at which limiters are known to fail: close to the window, fractions of it, and clock
/// units. None is longer than two windows. The most telling come first.
[[nodiscard]] std::vector<microseconds> telling_gaps(const limiter::Limit& limit);

/// Schedules, from time 0 on, under which limiters are known to fail. The most telling come first,
/// since the budget may not cover all. `fills` requests fill the limit; a schedule has at most
/// `most`.
[[nodiscard]] std::vector<Schedule> forward_schedules(const limiter::Limit& limit,
                                                      std::int64_t fills, std::int64_t most);
/// The same with a clock that steps back.
[[nodiscard]] std::vector<Schedule> backward_schedules(const limiter::Limit& limit,
                                                       std::int64_t fills);

}  // namespace rlctl::adversary
