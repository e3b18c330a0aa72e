#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adversary/difference.h"
#include "adversary/search.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/outcome.h"
#include "traffic/pattern.h"
#include "traffic/script.h"
#include "traffic/suggestion.h"
#include "traffic/traffic.h"

namespace rlctl::cli::burst {

// The data of burst: what it will do, what it found, and both together as a report.

/// How traffic is sent under the real clock: on a schedule, or without one in a closed loop.
struct RealClock {
  std::size_t clients = 1;  ///< connections; requests use them in turn
  /// In a closed loop: the requests in flight per connection.
  std::optional<std::size_t> pipeline = {};
  /// In a closed loop: the duration, unless the traffic ends earlier.
  std::optional<std::chrono::microseconds> duration = {};

  [[nodiscard]] bool is_closed_loop() const noexcept { return pipeline.has_value(); }
};

/// How `rlctl burst adversary` searches.
struct SearchPlan {
  std::int64_t budget = adversary::kDefaultBudget;  ///< requests against each limiter
  /// Tries every schedule of at most this many requests at critical times, instead of `budget`.
  std::optional<int> exhaustive = {};
  std::chrono::microseconds tick{1};      ///< times are multiples of this
  bool refunds = false;                   ///< --refunds
  std::vector<std::int64_t> costs = {};   ///< the costs of requests; refunds are below 0, and last
  bool no_stepping_back = false;          ///< --no-stepping-back
  std::optional<std::string> write = {};  ///< the file for the schedule

  /// Whether it also tries a clock that steps back.
  [[nodiscard]] bool steps_back() const noexcept { return !no_stepping_back && !exhaustive; }
};

/// What `rlctl burst` will do. The options set the first part, complete_plan() the rest.
struct Plan {
  // Texts whose meaning depends on other options.
  std::vector<std::string> limit_texts = {}, assertion_texts = {};
  std::optional<std::string> burst_text = {};
  ScriptOptions script = {};  ///< with the KEYS and ARGV among the operands
  ReplayArguments log = {};
  std::vector<const limiter::Algorithm*> algorithms = {};  ///< each once
  std::optional<std::string> against = {};  ///< the limiter to compare the only other one with
  bool model = false;                       ///< the models decide, without a server
  traffic::PatternRequest request = {};     ///< what the pattern is asked for
  std::optional<std::uint32_t> keys = {};   ///< the number of keys
  std::vector<std::int64_t> costs{1};
  std::optional<std::chrono::microseconds> start = {};
  std::optional<bool> is_real = {};  ///< --clock; by default real only with --rate max
  bool max_rate = false;             ///< --rate max
  std::optional<std::size_t> clients = {}, pipeline = {};
  std::optional<SearchPlan> search = {};  ///< instead of traffic
  // The files of the report, and the title of the SVG; none: from the traffic.
  std::optional<std::string> svg = {}, title = {}, csv = {}, jsonl = {}, junit = {};
  bool quiet = false;

  const traffic::Pattern* pattern = nullptr;         ///< null: a log or a search
  std::optional<replay::ReplayOptions> replay = {};  ///< the log, instead of a pattern
  /// Find the limit that denies at most this share.
  std::optional<traffic::DeniedShare> suggest = {};
  std::vector<limiter::Limit> limits = {};          ///< with the requested burst
  std::vector<traffic::Candidate> candidates = {};  ///< each with its own limits; scripts first
  bool is_comparison = false;                    ///< whether two candidates' decisions are compared
  bool has_configured_script = false;            ///< one of them is from the configuration
  std::optional<RealClock> real = {};            ///< none: the virtual clock
  std::vector<std::string> command = {};         ///< repeats this plan
  std::vector<std::string> replay_command = {};  ///< replays a search's schedule
};

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
  std::chrono::microseconds window{0};  ///< the window of the limit that is exceeded most
};

/// How one limiter handled the traffic. Keys have names here, and numbers in traffic::Outcome.
/// Names are data: escape them before printing.
struct Run {
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

/// The first request of a run about which two limiters differ.
struct FoundDifference {
  std::int64_t request = 0;  ///< its number in the traffic, from 1
  traffic::Arrival arrival = {};
  std::string key = {};  ///< its name
  bool allowed = false;  ///< the first limiter's answer; the other differs
  /// The fewest requests of one key that show a difference; none if they were not asked again, or
  /// if that showed none.
  std::optional<adversary::Difference> shrunk = {};
  /// The requests of the key alone were asked again and show no difference: the limiter looks at
  /// other keys or at the key's name, or the difference depends on when a key expires.
  bool vanishes_alone = false;
};

/// The results of `rlctl burst`, for every output format.
struct Report {
  Plan plan = {};
  std::shared_ptr<const replay::Recording> recording = {};  ///< of the plan's log, if any
  bool is_search = false;      ///< the runs have the schedules that a search found
  std::vector<Run> runs = {};  ///< in the order of the candidates
  /// The last run covers only the beginning of the traffic, or some runs are missing.
  bool interrupted = false;
  bool failed = false;                             ///< an error, not Ctrl-C, interrupted the report
  std::optional<FoundDifference> difference = {};  ///< of the plan's two limiters, if it compares
};

}  // namespace rlctl::cli::burst
