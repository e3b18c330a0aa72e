#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "limiter/limit.h"

namespace rlctl::adversary {

using std::chrono::microseconds;

/// When each request comes by the sender's clock, in the order of asking. A time that is earlier
/// than the one before it is a clock that steps back.
using Schedule = std::vector<microseconds>;

/// How a limiter answered one request.
struct Answer {
  bool allowed = false;
  microseconds delay{0};  ///< how long the request waits before it goes on
  bool operator==(const Answer&) const = default;
};
/// One for each request of a schedule.
using Answers = std::vector<Answer>;

/// Consecutive requests that come at the same time.
struct Instant {
  microseconds at{0};
  std::size_t first = 0;  ///< the index of the first request
  std::size_t count = 0;
};
[[nodiscard]] std::vector<Instant> instants_of(const Schedule& schedule);

[[nodiscard]] bool steps_back(const Schedule& schedule);

/// How a limiter failed under a schedule, measured as if time never went back: a request comes no
/// earlier than those before it. A request that is allowed with a delay counts when it may go on.
struct Score {
  std::int64_t worst = 0;      ///< the most units that were allowed within one window
  microseconds worst_from{0};  ///< of the first span that held so many
  microseconds worst_span{0};
  /// Requests that were denied although an exact log of the allowed ones would have allowed them,
  /// both by the sender's clock and by one that never goes back.
  std::vector<std::size_t> wrongly_denied = {};
};
[[nodiscard]] Score score_of(const Schedule& schedule, const Answers& answers,
                             const limiter::Limit& limit, std::int64_t cost);

/// Durations at which limiters are known to err: around the window, its parts, and the units of
/// clocks. None is longer than two windows. The most telling come first.
[[nodiscard]] std::vector<microseconds> telling_gaps(const limiter::Limit& limit);

/// Schedules, from time 0 on, under which limiters are known to err. The most telling come first,
/// since the budget may not last for all. `fills` requests fill the limit; a schedule has at most
/// `most`.
[[nodiscard]] std::vector<Schedule> forward_schedules(const limiter::Limit& limit,
                                                      std::int64_t fills, std::int64_t most);
/// The same with a clock that steps back.
[[nodiscard]] std::vector<Schedule> backward_schedules(const limiter::Limit& limit,
                                                       std::int64_t fills);

}  // namespace rlctl::adversary
