#pragma once

#include <cstdint>
#include <vector>

#include "adversary/schedule.h"
#include "limiter/limit.h"

namespace rlctl::adversary {

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
