#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/search_engine.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"

// The search for the schedules of requests under which a limiter allows the most within one window,
// which is `adversary`, and what it has found. search_engine.h has what it shares with the search
// for holders (holdings.h), and request_rules.h its rules.

namespace rlctl::adversary {

/// The requests that a search sends unless the user chooses another number.
inline constexpr std::int64_t kDefaultTries = 50'000;
/// The tries must fill the limit this many times, so that at least the most promising schedules are
/// tried.
inline constexpr std::int64_t kMinFills = 40;

struct SearchRequest {
  limiter::Limit limit = {};  ///< the limit that must hold
  /// Each request has one of these; the first is above 0; 0 is a look, and one
  /// below 0 a refund.
  std::vector<std::int64_t> costs{1};
  /// How many requests the search sends, enough for require_enough_tries(); shrinking sends at most
  /// as many again for each finding.
  std::int64_t tries = kDefaultTries;
  std::uint64_t seed = 1;
  microseconds base{0};  ///< a multiple of the window; no request is earlier
  /// The unit in which the limiter is told the time, rounded down. What it allows counts at the
  /// times that it was told; see SearchResult::by_rounding.
  microseconds tick{1};
  /// The coarsest of the units, if there are several: some schedules come as late as it does not
  /// show.
  microseconds clock_unit{0};
  bool steps_back = true;  ///< also try a clock that steps back
  /// Instead of a number of tries, try every schedule of up to this many requests, at critical
  /// times and of every cost, by a clock that does not step back.
  std::optional<int> exhaustive = {};
};

/// Throws UsageError if the tries are too few to fill the limit kMinFills times.
void require_enough_tries(const SearchRequest& request);

using Finding = Found<Score>;

/// What a search has found. In the end each schedule is the shortest that shows it, with the
/// roundest times.
struct SearchResult : SearchTotals {
  /// The most units allowed within one window by a clock that never steps back. Its schedule is
  /// empty only if the search was interrupted before any answer came.
  Finding most = {};
  /// More units than that, with a clock that steps back.
  std::optional<Finding> most_stepping_back = {};
  /// True if any schedule with a clock that steps back got an answer.
  bool has_stepped_back = false;
  /// More units than `most`, within less than a window only because the limiter's clock rounds the
  /// times; scored by the times of the requests.
  std::optional<Finding> by_rounding = {};
  /// A denied request that an exact log would have allowed. The clock steps back only if no other
  /// schedule shows as serious a denial.
  std::optional<Finding> wrongly_denied = {};
  /// The fewest units that were allowed at one instant before a denial of one that would not have
  /// filled the limit, nor the burst: the limiter's limit is another.
  std::optional<std::int64_t> denied_after = {};
  /// `most` has as many units as a schedule may have, about four times the limit: no bound was
  /// found.
  bool is_unbounded = false;
  /// The schedule of a denial at the edge only was continued, and neither that nor another schedule
  /// denied anything else; one tick later the request was allowed.
  bool edge_agrees = false;
  /// The TTLs of the limiter's keys that were not waited for: the longest ones of many, and those
  /// that end later than the times of the scripts.
  std::size_t ttls_left_out = 0;

  /// Keeps the candidate if it has wrong denials, and the one kept so far has none or less serious
  /// ones: only at the edge. If both are equally serious, keeps the candidate if it `is_smaller`.
  void keep_denial(const Finding& candidate, bool is_smaller);
  /// Whatever was found; a search that was not interrupted has at least one finding.
  std::vector<const Finding*> findings() const;
};

/// No request of a search is later than this after the base, unless it waits for a TTL.
microseconds latest_time(const SearchRequest& request);

/// Searches for the schedules under which a limiter allows the most within one window, or denies
/// what an exact log would allow. First tries schedules known to cause failures (around the edges
/// of windows, at one instant, one µs less than a window apart, at the rate at which a bucket
/// fills, when the TTLs end that its keys are seen to have, with a clock that steps back), then
/// random changes to the best schedules until the number of tries is used up. An exhaustive search
/// tries every schedule of a few requests instead, each at a time at which a limiter's answer may
/// change. Finally shrinks what was found: it loses the requests that it does not need, instants
/// are joined, and each moves to the roundest time that still shows the finding; and continues the
/// schedule of a denial at the edge, to see whether that is all.
///
/// The same request gives the same result. If the interrupt is raised, ends early with the findings
/// so far. Throws what the trial throws.
SearchResult search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                    const OnProgress& on_progress = {});

}  // namespace rlctl::adversary
