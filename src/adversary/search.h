#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"

namespace rlctl::adversary {

struct SearchRequest {
  limiter::Limit limit = {};     ///< the limit that must hold
  std::int64_t cost = 1;         ///< of each request
  std::int64_t budget = 50'000;  ///< requests; shrinking sends at most that many again
  std::uint64_t seed = 1;
  microseconds base{0};  ///< a multiple of the window; no request is earlier
  /// Request times are the base plus multiples of this, so that a limiter that gets a rounded time
  /// is not blamed for differences that it cannot see.
  microseconds tick{1};
};

/// The shortest schedule, with the roundest times, that shows a result of the search.
struct Finding {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

struct SearchResult {
  /// The most units allowed within one window by a clock that never steps back. Not empty.
  Finding most;
  /// More units than that, with a clock that steps back.
  std::optional<Finding> most_stepping_back = {};
  /// A denied request that an exact log would have allowed.
  std::optional<Finding> wrongly_denied = {};
  /// `most` is all that a schedule may ask for, about four times the limit: no bound was found.
  bool is_unbounded = false;
  std::int64_t asked = 0;  ///< requests
  bool interrupted = false;
};

/// The requests sent so far, roughly how many there will be, and the most units allowed so far.
using OnSearchProgress =
    std::function<void(std::int64_t asked, std::int64_t of, std::int64_t worst)>;

/// Searches for the schedules under which a limiter allows the most within one window, or denies
/// what an exact log would allow. First tries schedules known to cause failures (around the edges
/// of windows, at one instant, one µs less than a window apart, at the rate at which a bucket
/// fills, with a clock that steps back), then random changes to the best schedules until the budget
/// is used up. Finally shrinks them. The same request gives the same result. If the interrupt is
/// raised, ends early with the findings so far.
///
/// Throws UsageError if the budget is too small for the limit, and what the trial throws.
[[nodiscard]] SearchResult search(Trial& trial, const SearchRequest& request,
                                  const Interrupt& interrupt,
                                  const OnSearchProgress& on_progress = {});

}  // namespace rlctl::adversary
