#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"

namespace rlctl::adversary {

struct SearchRequest {
  limiter::Limit limit = {};     ///< what is to hold
  std::int64_t cost = 1;         ///< of each request
  std::int64_t budget = 50'000;  ///< requests; shrinking takes as many again at most
  std::uint64_t seed = 1;
  microseconds base{0};  ///< a multiple of the window; nothing comes earlier
  /// Requests come at multiples of this from the base on: what a limiter that is told no more of
  /// the time cannot tell apart is no finding.
  microseconds tick{1};
};

/// The fewest requests, at the roundest times, that show something.
struct Finding {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

struct SearchResult {
  /// The most that was allowed within one window while the clock never stepped back. Always there:
  /// at worst it is one request.
  Finding most;
  /// More than that, by a clock that steps back.
  std::optional<Finding> most_stepping_back = {};
  /// A request denied that an exact log would have allowed.
  std::optional<Finding> wrongly_denied = {};
  /// `most` is as many as were asked at most, some four times the limit: there may be no bound.
  bool is_unbounded = false;
  std::int64_t asked = 0;  ///< requests
  bool interrupted = false;
};

/// How many requests have been asked, of about how many, and the most that was allowed so far.
using OnSearchProgress =
    std::function<void(std::int64_t asked, std::int64_t of, std::int64_t worst)>;

/// Searches for the schedules under which a limiter allows the most within one window, or denies
/// what an exact log would allow: first by what is known to go wrong (around the edges of windows,
/// at one instant, one window apart but for a µs, at the rate at which a bucket fills, with a clock
/// that steps back), then by changing the best of what was found at random, as long as the budget
/// lasts. Then makes them small. The same request gives the same result. Ends early, with what was
/// found, where the interrupt is raised.
///
/// Throws UsageError where the budget is too small for the limit, and what the trial does.
[[nodiscard]] SearchResult search(Trial& trial, const SearchRequest& request,
                                  const Interrupt& interrupt,
                                  const OnSearchProgress& on_progress = {});

}  // namespace rlctl::adversary
