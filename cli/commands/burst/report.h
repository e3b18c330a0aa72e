#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adversary/holdings.h"
#include "adversary/probes.h"
#include "adversary/search.h"
#include "cli/commands/burst/events.h"
#include "cli/commands/burst/plan.h"
#include "cli/terminal/terminal.h"
#include "limiter/limit.h"
#include "traffic/holding.h"
#include "traffic/measurement.h"
#include "traffic/spending.h"
#include "traffic/traffic.h"

namespace rlctl::cli::burst {

/// What a search found.
struct SearchFindings {
  adversary::SearchResult result = {};
  limiter::Limit limit = {};
  /// The placeholder that tells the script the time, if the most is measured in its unit; null if
  /// it is measured in µs, since the unit is unknown or longer than a hundredth of a window.
  const traffic::Placeholder* clock = nullptr;
  std::optional<adversary::ClockAhead> clock_ahead = {};  ///< if it locks others out
  /// What a token bucket with its burst allows, of a limiter that is not bundled and behaves as
  /// one.
  std::optional<std::int64_t> bucket_allows = {};
  bool has_refunds = false;  ///< in the schedule that allows the most: its outcome lacks them

  std::chrono::microseconds tick() const {
    return clock != nullptr ? clock->tick : std::chrono::microseconds{1};
  }
  /// The units in a finding's worst window, as a multiple of the limit.
  double ratio_of(const adversary::Finding& finding) const {
    return static_cast<double>(finding.score.worst) / static_cast<double>(limit.limit);
  }
};

/// What a search found about leases or reservations.
struct HolderFindings {
  adversary::HoldingSearchResult result = {};
  std::chrono::microseconds tick{1};  ///< times are multiples of this
};

/// The most units that the traffic asked for within one window.
struct OfferedLoad {
  traffic::Worst worst = {};
  std::chrono::microseconds window{0};  ///< the window of the limit that is exceeded most
};

/// How one limiter handled the traffic. Keys have names here, and numbers in traffic::Outcome.
/// Names are data: escape them before printing.
struct Run {
  std::string name = {};    ///< the limiter's
  bool is_bundled = false;  ///< not a script or a program of the user's
  traffic::Outcome outcome = {};
  std::optional<SearchFindings> search = {};         ///< if a search found the traffic
  std::optional<traffic::Held> held = {};            ///< with --concurrency
  std::optional<traffic::Spent> spent = {};          ///< with --reserve
  std::optional<HolderFindings> holder_search = {};  ///< if a search did
  /// The names of the keys of Held::most and Held::most_ever.
  std::string held_key = {}, held_ever_key = {};
  std::string spent_key = {};               ///< the name of the key of Spent::most
  std::optional<OfferedLoad> offered = {};  ///< if assertions need it
  /// What the replies of a script suggest about how they were read.
  std::optional<std::string> hint = {};
  /// The origin of the run's times. Under the real clock each run has its own: the beginning of its
  /// traffic, or of the window before the edge that its pattern surrounds. With a log, the time of
  /// the first request. Otherwise 0: all runs have the same times.
  std::chrono::microseconds begin{0};
  /// Why a bundled algorithm treated the traffic so: a sentence without a full stop.
  std::optional<std::string> why = {};
  std::string worst_key = {};  ///< empty if nothing was allowed
  std::vector<std::pair<std::string, std::int64_t>> top_denied = {};  ///< key, requests
  /// The names of the keys of Measured::worst_keys.
  std::vector<std::string> worst_keys = {};
  std::optional<std::int64_t> burst = {};              ///< the burst of the suggestion, if any
  std::optional<traffic::Suggestion> suggestion = {};  ///< if the plan asks for one
  std::optional<Events> events = {};                   ///< if the plan asks for a page
};

/// The first request that one limiter allows and the other denies.
struct Difference {
  std::int64_t request = 0;         ///< its number in the traffic, from 1
  std::chrono::microseconds at{0};  ///< its time
  std::string key = {};             ///< the name of its key
  bool allowed = false;             ///< the first limiter's answer; the other's is the opposite
  /// At this time a key of a program's Redis server was in the last millisecond of its TTL, in
  /// which the server still has it.
  bool at_end_of_ttl = false;
};

/// The results of `rlctl burst`, for every output format.
struct Report {
  Plan plan = {};
  std::shared_ptr<const replay::Recording> recording = {};  ///< the log replayed, if any
  std::vector<Run> runs = {};                               ///< in the order of the candidates
  /// The last run covers only the beginning of the traffic, or some runs are missing.
  bool interrupted = false;
  bool failed = false;                        ///< an error, not Ctrl-C, interrupted the report
  std::optional<Difference> difference = {};  ///< between the two limiters of --compare
};

// --- Outputs -------------------------------------------------------------------------------------

/// A report for people: the traffic and the limits, what each limiter did, and the command that
/// repeats the run.
void append_text(std::string& out, const Report& report, const Look& look);
/// One JSON object and a line end. Unknown values are null.
void append_json(std::string& out, const Report& report);
/// One decision of the run with this name, about request `number` (from 1) of its traffic: a JSON
/// object and a line end.
void append_decision_json(std::string& out, const Plan& plan, std::string_view run,
                          std::int64_t number, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision);
/// The steps of a search's findings: a JSON object and a line end for each request.
void append_steps_json(std::string& out, const Report& report);
/// The finding of a search's only run that is worth replaying, as a log for --replay, with `time
/// key cost` on each line: too much allowed, else a wrong denial by a clock that does not step
/// back, else the most allowed. The log begins with the command that replays it.
std::string schedule_log(const Report& report);

// --- What the outputs have in common -------------------------------------------------------------

/// A command as lines to paste at once, of at most `columns` if possible. An option and its value
/// stay on one line if they fit.
std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns);
/// "boundary", "replay" for a log, or "adversary".
std::string_view traffic_name(const Report& report);
/// A few words about the traffic.
std::string traffic_text(const Report& report);
/// The number of keys in the traffic.
std::int64_t traffic_keys(const Report& report);
/// Whether the schedule that a search found has refunds, which pictures do not show.
bool has_refunds(const Report& report);
/// Whether times are shown as dates and times of day: those of a log under the virtual clock.
bool shows_dates(const Report& report);
/// One of the windows in which a limiter itself counts.
struct OwnWindow {
  std::chrono::microseconds from{0}, to{0};
  std::int64_t units = 0;  ///< how many of the worst window's units lie in it
};
/// The limiter's own windows, one or two, that the worst window touches. None if it has no such
/// windows, or if they are not known: those of a script, and of a clock that is not the traffic's.
std::vector<OwnWindow> own_windows(const Report& report, const Run& run,
                                   const traffic::Worst& worst);
/// Why a bundled algorithm answered a request of a finding so, in a few words: "counts in the
/// window from 2026-01-01T00:01:00Z". Empty if it is not known.
std::string step_reason(const Run& run, const Plan& plan, const adversary::Finding& finding,
                        std::size_t step);
/// The findings of a search with their names, null if there is none.
std::array<std::pair<std::string_view, const adversary::Finding*>, 4> findings_of(
    const adversary::SearchResult& result);
/// Whether the report says if the two limiters differ.
bool tells_difference(const Report& report);
/// "first at request 31 (key 'a'): fixed-window allows it, gcra denies it"
std::string difference_text(const Plan& plan, const Difference& found);
/// What a search skips, after a number of schedules.
inline constexpr std::string_view kUndecided =
    "whose result depends on the exact moment a key expires";
/// "10 within 59.999 s, which a clock of 1 ms, as in {now_ms}, cannot tell from 60 s"; empty if
/// rounding lets nothing more through.
std::string rounding_text(const SearchFindings& search);
/// What a random search left out; empty if nothing.
std::string left_out_text(const adversary::SearchResult& result);
inline constexpr std::string_view kUnbounded = "as many as were sent: no bound was found";

/// The verdict on a limiter that did not exceed the limit.
struct Verdict {
  std::string_view text = {};
  Tone tone = Tone::kGood;
};
/// The verdict; none if the limiter exceeded the limit. One that allows nothing has kept the limit,
/// but has not succeeded.
std::optional<Verdict> verdict_within_limit(std::int64_t allowed, double ratio);

/// Whether a limiter of leases or reservations exceeded the limit or lost anything, in a few words.
struct HoldersVerdict {
  std::string text = {};
  Tone tone = Tone::kGood;
};
/// With --concurrency or --reserve.
HoldersVerdict holders_verdict(const Report& report, const Run& run);
/// How many held leases, or how many units were spent or held, over time, and the most; null and 0
/// without --concurrency and --reserve.
const std::vector<traffic::HeldStep>* steps_of(const Run& run);
std::int64_t most_of(const Run& run);
/// The verdict on a finding of a search; a title stands before it.
std::string finding_verdict(const adversary::Finding& finding, const SearchFindings& search,
                            const Look& look);

/// A sentence about a run, without a full stop, and the word before it: "why", "note".
struct Remark {
  std::string_view label = {};
  std::string text = {};
};
/// Why a limiter treated the traffic so, and what its author should know.
std::vector<Remark> remarks_on(const Report& report, const Run& run);
/// What is known of a search's finding; `run` is one of the report's.
std::vector<Remark> remarks_on_search(const Report& report, const Run& run);

/// "2.00"; with more decimals if two would round a ratio other than 1 to 1.00.
std::string ratio_text(double ratio);
/// "1000/s", "12.5/s"
std::string rate_text(double per_second);
/// Exact to the µs, since a limiter may be off by one: 59.999999 s is not 60 s.
std::string exact_text(std::chrono::microseconds span);
/// "0", "+59.999999 s"
std::string exact_offset_text(std::chrono::microseconds offset);
/// "at one instant", "within 20 ms"
std::string within_text(std::chrono::microseconds span);
/// Text for XML, also within an attribute. Characters that XML does not allow are escaped as in a
/// message.
std::string xml(std::string_view text);

/// Says that requests were sent later than they were due, such as "fixed-window: the sender fell
/// behind: ..."; none if the sender kept up, or if the clock was virtual.
std::optional<std::string> why_late(const Run& run);

}  // namespace rlctl::cli::burst
