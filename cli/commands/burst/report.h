#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/burst/difference.h"
#include "cli/commands/burst/plan.h"
#include "replay/recording.h"
#include "traffic/outcome.h"
#include "traffic/suggestion.h"

namespace rlctl::cli {

/// What a search found besides the schedule under which a limiter allows the most.
struct SearchFindings {
  /// By any clock, as a multiple of the limit; none if no clock that steps back was tried.
  std::optional<double> most_stepping_back = {};
  std::int64_t wrongly_denied = 0;  ///< requests
  /// All schedules within bounds, if the search tries them all.
  std::optional<std::int64_t> tried = {};
  std::int64_t undecided = 0;  ///< schedules that the search left out: see kUndecided
  bool has_refunds = false;    ///< in that schedule: its outcome lacks them
};

/// The most units that the traffic asked for within one window.
struct OfferedLoad {
  traffic::Worst worst = {};
  std::chrono::microseconds window{0};  ///< of the limit that this exceeds most
};

/// How one limiter handled the traffic. Keys have names here, and numbers in traffic::Outcome.
/// Names are data: escape them before printing.
struct BurstRun {
  std::string name = {};    ///< the limiter's
  bool is_bundled = false;  ///< not a script of the user's
  traffic::Outcome outcome = {};
  std::optional<SearchFindings> search = {};  ///< if a search found the traffic
  std::optional<OfferedLoad> offered = {};    ///< if assertions need it
  /// What the replies of a script suggest about how they were read.
  std::optional<std::string> hint = {};
  /// The origin of the run's times. Under the real clock each run has its own: the beginning of its
  /// traffic, or of the window before the edge that its pattern surrounds. With a log, the time of
  /// the first request. Otherwise 0: all runs have the same times.
  std::chrono::microseconds begin{0};
  /// Why a bundled algorithm treated the traffic so: a sentence without a full stop.
  std::optional<std::string> why = {};
  /// The verdict of a picture; by default, that of its worst window.
  std::optional<std::string> verdict = {};
  std::string worst_key = {};  ///< empty if nothing was allowed
  std::vector<std::pair<std::string, std::int64_t>> top_denied = {};  ///< key, requests
  std::optional<std::int64_t> burst = {};              ///< the burst of the suggestion, if any
  std::optional<traffic::Suggestion> suggestion = {};  ///< if the plan asks for one
};

/// The results of `rlctl burst`, for every output format.
struct BurstReport {
  BurstPlan plan = {};
  std::shared_ptr<const replay::Recording> recording = {};  ///< of the plan's log, if any
  bool is_search = false;           ///< the runs have the schedules that a search found
  std::vector<BurstRun> runs = {};  ///< in the order of the candidates
  /// The last run covers only the beginning of the traffic, or some runs are missing.
  bool interrupted = false;
  bool failed = false;                             ///< an error, not Ctrl-C, interrupted the report
  std::optional<FoundDifference> difference = {};  ///< of the plan's two limiters, if it compares
};

/// A command as lines to paste at once, of at most `columns` if possible. An option and its value
/// stay on one line if they fit.
[[nodiscard]] std::vector<std::string> command_lines(const std::vector<std::string>& words,
                                                     std::size_t columns);
/// BurstRun::why.
[[nodiscard]] std::optional<std::string> why_of(const traffic::Candidate& candidate,
                                                const traffic::Measured& measured,
                                                std::int64_t highest_cost, bool is_search);
/// "boundary", "replay" for a log, or "adversary".
[[nodiscard]] std::string_view traffic_name(const BurstReport& report);
/// The number of keys in the traffic.
[[nodiscard]] std::int64_t traffic_keys(const BurstReport& report);
/// Whether the schedule that a search found has refunds, which pictures do not show.
[[nodiscard]] bool has_refunds(const BurstReport& report);
/// "open loop, 1 client", "closed loop, 50 clients, pipeline 1"
[[nodiscard]] std::string clock_text(const RealClock& clock);
/// Whether times are shown as dates and times of day: those of a log under the virtual clock.
[[nodiscard]] bool shows_dates(const BurstReport& report);
/// The schedule of a search, in a few words.
inline constexpr std::string_view kSearchSummary =
    "the schedule that makes a limiter allow the most";
/// Why a search leaves schedules out.
inline constexpr std::string_view kUndecided =
    "their answers change if keys live a moment longer or shorter";
/// A few words about the traffic.
[[nodiscard]] std::string traffic_text(const BurstReport& report);
/// "2.00"; with more decimals if two would round a ratio other than 1 to 1.00.
[[nodiscard]] std::string ratio_text(double ratio);
/// "1000/s", "12.5/s"
[[nodiscard]] std::string rate_text(double per_second);

// --- Times of a run under the real clock ---------------------------------------------------------

/// A reported percentile; the list is fixed, so that reports are comparable.
struct Percentile {
  std::string_view name;   ///< in JSON, CSV and assertions
  std::string_view title;  ///< in text
  double percent;

  /// The fewest durations that yield it: see Histogram::percentile().
  [[nodiscard]] std::int64_t needs() const noexcept;
};
inline constexpr std::array kPercentiles{
    Percentile{"p50", "p50", 50}, Percentile{"p75", "p75", 75}, Percentile{"p90", "p90", 90},
    Percentile{"p95", "p95", 95}, Percentile{"p99", "p99", 99}, Percentile{"p99_9", "p99.9", 99.9}};

/// The percentile by which a run is judged.
inline constexpr double kP99 = 99;

/// The time that a caller waits: the response time or, in a closed loop, which has no due times,
/// the service time.
[[nodiscard]] const traffic::Histogram& waited_for(const traffic::Timing& timing);

/// "fixed-window: the server answered 500/s of 1000/s, ..."; none if it kept up, or if the traffic
/// was too short to tell.
[[nodiscard]] std::optional<std::string> why_overloaded(const BurstRun& run);

/// "fixed-window: the sender fell behind: ..."; none if the run is valid or was not timed.
[[nodiscard]] std::optional<std::string> why_invalid(const BurstRun& run);

}  // namespace rlctl::cli
