#pragma once

#include <cstdint>

#include "support/limiters.h"
#include "support/random.h"

namespace rlctl::test {

// What must be true of a limiter whatever it is made of: a script or its model. Each states one
// sentence of rlctl-scripts(7) and fails the test where it does not hold.

/// How many of cost 1 pass at one instant through a limiter that was not used.
[[nodiscard]] std::int64_t capacity(const Algorithm& algorithm, const Limit& limit);

/// From empty, exactly the capacity passes at one instant. Where that is more than `singly`, most
/// of it is asked for in large costs.
void check_capacity_at_one_instant(Limiter& limiter, const Algorithm& algorithm, const Limit& limit,
                                   std::int64_t singly);

/// A denied request is denied still one µs before retry_after, and allowed then; whatever the
/// arguments and clocks were before.
void check_retry_after(Limiter& limiter, const Algorithm& algorithm, Random& random,
                       std::int64_t requests);

/// After reset_after, and not one µs before, the keys answer as if they had never been used.
void check_reset_after(Limiter& limiter, const Algorithm& algorithm, Random& random,
                       std::int64_t requests);

/// Counted from the traffic itself: no span of one window holds more than the limit, and nothing
/// was denied that would have kept to it.
void check_is_exact(Limiter& limiter, const Algorithm& algorithm, Random& random, int schedules);

/// Counted from the traffic itself: between any two allowed requests never more than the burst and
/// what the rate brings in that time. `slack` is for doubles, in units.
void check_burst_and_rate(Limiter& limiter, const Algorithm& algorithm, Random& random,
                          int schedules, double slack);

}  // namespace rlctl::test
