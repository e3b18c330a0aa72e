#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "adversary/finding.h"
#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"

namespace rlctl::adversary {

/// The requests that a search sends unless the user chooses another number.
inline constexpr std::int64_t kDefaultBudget = 50'000;

struct SearchRequest {
  limiter::Limit limit = {};  ///< the limit that must hold
  /// Each request has one of these; the first is above 0, one below 0 is a refund.
  std::vector<std::int64_t> costs{1};
  /// Requests; shrinking sends at most as many again for each finding.
  std::int64_t budget = kDefaultBudget;
  std::uint64_t seed = 1;
  microseconds base{0};  ///< a multiple of the window; no request is earlier
  /// The times of requests are the base plus multiples of this, which leaves out differences that a
  /// coarse clock cannot see.
  microseconds tick{1};
  /// By how much the limiter's clock rounds: SearchResult::beyond_rounding leaves out spans that
  /// are shorter than a window by less.
  microseconds rounding{0};
  bool steps_back = true;  ///< also try a clock that steps back
};

/// No request of a search() is later than this after the base.
[[nodiscard]] microseconds latest_time(const SearchRequest& request);

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

/// By a clock as coarse as the request's rounding.
[[nodiscard]] Score score_of(const Schedule& schedule, const Answers& answers,
                             const SearchRequest& request);
/// Shrinks the leads of one search, in both directions of the clock, to its result, whose `asked`
/// becomes the requests that this sends.
[[nodiscard]] SearchResult shrunk_result(Trial& trial, const SearchRequest& request,
                                         const Leads& forward, const Leads& stepping_back,
                                         const Interrupt& interrupt);
/// Whether each finding really has these answers; see Trial::confirms(). If the interrupt ends it,
/// sets SearchResult::interrupted, and true.
[[nodiscard]] bool is_confirmed(Trial& trial, SearchResult& result);

}  // namespace rlctl::adversary
