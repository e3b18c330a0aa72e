#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"

// The random search for the schedule under which a limiter allows the most within one window, which
// is `adversary`, and what a search of either kind has found. cli/commands/adversary/search.cc
// calls search() for each limiter, and its reports show the SearchResult. The second part of this
// file is shared with the exhaustive search (exhaustive.h).

namespace rlctl::adversary {

// ---- Searching ----

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
};

/// Throws UsageError if the tries are too few to fill the limit kMinFills times.
void require_enough_tries(const SearchRequest& request);

/// A schedule, the answers to it, and what they show.
struct Finding {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

/// What a search has found. In the end each schedule is the shortest that shows it, with the
/// roundest times.
struct SearchResult {
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
  /// How many schedules an exhaustive search tried: all within bounds, unless `interrupted`.
  std::optional<std::int64_t> tried = {};
  /// The schedules that were left out, since their answers depend on when a key expires.
  std::int64_t undecided = 0;
  /// The TTLs of the limiter's keys that were not waited for: the longest ones of many, and those
  /// that end later than the times of the scripts.
  std::size_t ttls_left_out = 0;
  /// An exhaustive search sent each schedule from its beginning, since it is unknown what a
  /// schedule leaves: schedules share a key, the limiter uses keys that are not among its KEYS, or
  /// the user may not DUMP them.
  bool sent_each_whole = false;
  std::int64_t requests_sent = 0;
  bool interrupted = false;

  /// Keeps the candidate if it has wrong denials, and the one kept so far has none or less serious
  /// ones: only at the edge. If both are equally serious, keeps the candidate if it `is_smaller`.
  void keep_denial(const Finding& candidate, bool is_smaller);
  /// Keeps the answers as by_rounding if they show more by the exact times than was known.
  void keep_rounding(const Finding& candidate, const SearchRequest& request);
  /// Sets denied_after, if the answers show it.
  void keep_early_denial(const Schedule& schedule, const Answers& answers,
                         const limiter::Limit& limit);
};

/// No request of a search() is later than this after the base, unless it waits for a TTL.
microseconds latest_time(const SearchRequest& request);

/// The requests sent so far, roughly how many there will be, and the most units allowed so far.
using OnSearchProgress =
    std::function<void(std::int64_t sent, std::int64_t of, std::int64_t worst)>;

/// Searches for the schedules under which a limiter allows the most within one window, or denies
/// what an exact log would allow. First tries schedules known to cause failures (around the edges
/// of windows, at one instant, one µs less than a window apart, at the rate at which a bucket
/// fills, when the TTLs end that its keys are seen to have, with a clock that steps back), then
/// random changes to the best schedules until the number of tries is used up. Finally shrinks them.
/// The same request gives the same result. If the interrupt is raised, ends early with the findings
/// so far.
///
/// Throws UsageError if the number of tries is too small for the limit, and what the trial throws.
SearchResult search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                    const OnSearchProgress& on_progress = {});

// ---- Parts that all searches use ----

/// How long after the schedules' last requests the limiter's keys end, in no particular order. The
/// requests count as sent.
std::vector<microseconds> learned_ttls(Trial& trial, const std::vector<Schedule>& schedules,
                                       std::int64_t& requests_sent);

/// The result of `find`, which searches. Calls it again if the findings turn out not to have their
/// answers, so that all that was found is void; see Trial::confirms().
template <typename Find, typename IsConfirmed>
auto confirmed_result(const Find& find, const IsConfirmed& is_confirmed) {
  auto result = find();
  if (result.interrupted || is_confirmed(result)) return result;
  const auto in_vain = result.requests_sent;
  result = find();
  result.requests_sent += in_vain;
  return result;
}

/// The score of answers, with the most as the limiter's clock sees it.
Score score_of(const Schedule& schedule, const Answers& answers, const SearchRequest& request);
/// Whether `one` is a weaker finding than `other`: it has fewer units or, with equal units, a much
/// longer span or, if that is about equal too, more requests.
bool is_weaker(const Finding& one, const Finding& other, microseconds window);
/// Whether each of the findings of a result really has its answers; see Trial::confirms(). True if
/// an interrupt ends this, which sets `interrupted` of the result.
template <typename Result, typename Finding>
bool is_confirmed(Trial& trial, Result& result, const std::vector<const Finding*>& findings) try {
  return std::ranges::all_of(findings, [&](const Finding* finding) {
    return trial.confirms(finding->schedule, finding->answers);
  });
} catch (const Interrupted&) {
  result.interrupted = true;
  return true;
}
bool is_confirmed(Trial& trial, SearchResult& result);

/// The requests sent so far to make one finding small.
using OnSent = std::function<void(std::int64_t sent)>;
/// The result of a search that found `forward` with a clock that never steps back, and
/// `stepping_back` with one that may. Each finding is made smaller: it loses the requests that it
/// does not need, instants are joined, and each moves to the roundest time that still shows the
/// finding. Then continues the schedule of a denial at the edge, to see whether that is all. Sends
/// at most as many requests as there are tries for each, and nothing after an interrupt;
/// SearchResult::requests_sent includes these requests.
SearchResult shrunk_result(Trial& trial, const SearchRequest& request, const SearchResult& forward,
                           const SearchResult& stepping_back, const Interrupt& interrupt,
                           const OnSent& on_sent = {});

}  // namespace rlctl::adversary
