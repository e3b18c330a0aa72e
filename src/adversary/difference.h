#pragma once

#include <cstdint>
#include <optional>

#include "adversary/schedule.h"
#include "adversary/shrinking.h"
#include "adversary/trial.h"
#include "limiter/limit.h"

namespace rlctl::adversary {

/// Requests of one key, about the last of which two limiters differ: one allows it, the other
/// denies it. They agree about all others.
struct Difference {
  Schedule schedule = {};
  Answers one = {}, other = {};
};

/// The first request of a schedule about which the limiters differ; none if there is none, or if it
/// depends on chance. Throws what the trials throw.
[[nodiscard]] std::optional<Difference> first_difference(Trial& one, Trial& other,
                                                         const Schedule& schedule);

/// Makes a difference smaller: see shrink(). Sends each limiter at most `budget` requests.
[[nodiscard]] Difference shrunk(Trial& one, Trial& other, const Difference& difference,
                                const limiter::Limit& limit, std::int64_t budget,
                                const KeepsShrinking& keeps_on = {});

}  // namespace rlctl::adversary
