#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "adversary/schedule.h"
#include "limiter/limit.h"

// A schedule whose answers tell what a clock that is ahead does to others. `adversary` reports it
// beside what its search has found, and `lint` judges by it.

namespace rlctl::adversary {

/// Answers each schedule on an empty state; not at all if the answers depend on chance.
using Ask = std::function<Answers(const Schedule& schedule)>;

/// The number of allowed requests, without those before the index `first`.
std::int64_t allowed_from(const Answers& answers, std::size_t first);

/// A request whose clock is ahead, and what it does to those after it whose clocks are right.
struct ClockAhead {
  microseconds ahead{0};
  /// The request that is ahead, and then, for as long as it is ahead, those of a client that takes
  /// no more than its share.
  Schedule schedule = {};
  Answers answers = {};
  std::int64_t allowed = 0,
               usual = 0;  ///< of the client's requests, with the first one, without it
};
/// Asks with a clock that is ahead by an hour, a window and a second. Returns the first of these
/// that denies more than half of what is allowed otherwise; std::nullopt if none does.
std::optional<ClockAhead> find_clock_ahead(const limiter::Limit& limit, microseconds start,
                                           const Ask& ask);

}  // namespace rlctl::adversary
