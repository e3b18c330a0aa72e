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
  limiter::Limit limit = {};     ///< that must hold
  std::int64_t cost = 1;         ///< of each request
  std::int64_t budget = 50'000;  ///< requests; shrinking takes at most as many again
  std::uint64_t seed = 1;
  microseconds base{0};  ///< a multiple of the window; nothing comes earlier
  /// Requests come at multiples of this after the base: a limiter that is told a rounded time is
  /// not blamed for what it cannot tell apart.
  microseconds tick{1};
};

/// The fewest requests, at the roundest times, that show something.
struct Finding {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

struct SearchResult {
  /// The most that was allowed within one window while the clock never stepped back; at least one
  /// request.
  Finding most;
  /// More than that, with a clock that steps back.
  std::optional<Finding> most_stepping_back = {};
  /// A denied request that an exact log would have allowed.
  std::optional<Finding> wrongly_denied = {};
  /// `most` is all that a schedule may ask for, some four times the limit: there may be no bound.
  bool is_unbounded = false;
  std::int64_t asked = 0;  ///< requests
  bool interrupted = false;
};

/// The requests asked so far, roughly how many there will be, and the most that was allowed so far.
using OnSearchProgress =
    std::function<void(std::int64_t asked, std::int64_t of, std::int64_t worst)>;

/// Searches for the schedules under which a limiter allows the most within one window, or denies
/// what an exact log would allow. First it tries what is known to go wrong (around the edges of
/// windows, at one instant, one window apart but for a µs, at the rate at which a bucket fills,
/// with a clock that steps back), then random changes to the best schedules, as long as the budget
/// lasts. Finally it shrinks them. The same request gives the same result. Ends early, with what
/// was found, if the interrupt is raised.
///
/// Throws UsageError if the budget is too small for the limit, and what the trial throws.
[[nodiscard]] SearchResult search(Trial& trial, const SearchRequest& request,
                                  const Interrupt& interrupt,
                                  const OnSearchProgress& on_progress = {});

}  // namespace rlctl::adversary
