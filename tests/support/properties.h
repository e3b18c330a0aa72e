#pragma once

#include <cstdint>

#include "support/limiters.h"
#include "support/random.h"

namespace rlctl::test {

// Properties of any limiter, script or model. Each function checks one sentence of rlctl-scripts(7)
// and fails the test if it is not true.

/// How many requests of cost 1 an unused limiter allows at one instant.
std::int64_t capacity(const Algorithm& algorithm, const Limit& limit);

/// An unused limiter allows exactly its capacity at one instant. If that is more than `singly`,
/// most of it is requested in large costs.
void check_capacity_at_one_instant(Limiter& limiter, const Algorithm& algorithm, const Limit& limit,
                                   std::int64_t singly);

/// A denied request is still denied one µs before retry_after and allowed at it, whatever the
/// arguments and clocks were before.
void check_retry_after(Limiter& limiter, const Algorithm& algorithm, Random& random,
                       std::int64_t requests);

/// After reset_after, but not one µs earlier, the keys answer as if they had never been used.
void check_reset_after(Limiter& limiter, const Algorithm& algorithm, Random& random,
                       std::int64_t requests);

/// Counted from the traffic: no span of one window exceeds the limit, and nothing is denied that
/// would have kept to it.
void check_is_exact(Limiter& limiter, const Algorithm& algorithm, Random& random, int schedules);

/// Counted from the traffic: between any two allowed requests never more than the burst plus what
/// the rate adds in that time. `slack` allows for doubles, in units.
void check_burst_and_rate(Limiter& limiter, const Algorithm& algorithm, Random& random,
                          int schedules, double slack);

}  // namespace rlctl::test
