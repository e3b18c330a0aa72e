#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "limiter/limit.h"

namespace rlctl::adversary {

using std::chrono::microseconds;

/// When each request comes, by the clock of whoever sends it, in the order in which they are asked.
/// A time before an earlier one is a clock that steps back.
using Schedule = std::vector<microseconds>;

/// How a limiter answered to one request.
struct Answer {
  bool allowed = false;
  microseconds delay{0};  ///< to wait before going on
  bool operator==(const Answer&) const = default;
};
/// One for each request of a schedule.
using Answers = std::vector<Answer>;

/// Requests that come at the same time, one after the other.
struct Instant {
  microseconds at{0};
  std::size_t first = 0;  ///< the number of the first one
  std::size_t count = 0;
};
[[nodiscard]] std::vector<Instant> instants_of(const Schedule& schedule);

[[nodiscard]] bool steps_back(const Schedule& schedule);

/// What a limiter did wrong under a schedule, measured as if time never went back: a request comes
/// no earlier than those before it. What is allowed with a delay counts when it may go on.
struct Score {
  std::int64_t worst = 0;      ///< the most units that were allowed within one window
  microseconds worst_from{0};  ///< of the first span that held so many
  microseconds worst_span{0};
  /// Requests that were denied although an exact log of what had been allowed would have allowed
  /// them: by the sender's clock and by one that never goes back.
  std::vector<std::size_t> wrongly_denied = {};
};
[[nodiscard]] Score score_of(const Schedule& schedule, const Answers& answers,
                             const limiter::Limit& limit, std::int64_t cost);

/// Lengths of time at which limiters are known to err: about the window, its parts, and the units
/// in which clocks are read. None above two windows; the most telling first.
[[nodiscard]] std::vector<microseconds> telling_gaps(const limiter::Limit& limit);

/// Schedules, from time 0 on, under which limiters are known to err. The most telling first, since
/// a budget may end before all are asked. `fills` requests fill the limit, `most` is how many a
/// schedule may have.
[[nodiscard]] std::vector<Schedule> forward_schedules(const limiter::Limit& limit,
                                                      std::int64_t fills, std::int64_t most);
/// The same with a clock that steps back.
[[nodiscard]] std::vector<Schedule> backward_schedules(const limiter::Limit& limit,
                                                       std::int64_t fills);

}  // namespace rlctl::adversary
