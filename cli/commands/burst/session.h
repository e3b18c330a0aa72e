#pragma once

#include <functional>

#include "cli/commands/burst/report.h"
#include "traffic/real_run.h"

namespace rlctl::cli::burst {

/// Called for each decision, with the names of the run and of the key, and with the number of the
/// request in the run, from 1.
using OnNamedDecision =
    std::function<void(std::string_view run, std::int64_t number, std::string_view key,
                       const traffic::Arrival&, const limiter::Decision&)>;

/// Reads the plan's log, and warns about lines that it cannot read; null if the plan has no log.
/// Throws what replay::Recording throws, and UsageError if a limiter of the plan does not accept
/// the highest cost in the log.
std::shared_ptr<const replay::Recording> read_recording(const Plan& plan,
                                                        const Invocation& invocation);

/// Sends the traffic of a report's plan through each of its limiters in turn, or searches against
/// each, and adds the runs to the report. Removes the keys after each run, even if an error or
/// Ctrl-C ends it; after Ctrl-C the report covers the decisions so far. `on_decision` may be empty.
void run_plan(Report& report, Invocation& invocation, const OnNamedDecision& on_decision);

// --- Progress ------------------------------------------------------------------------------------

/// A run under the real clock, and how long it will take.
struct RunInProgress {
  std::string_view name = {};
  std::size_t number = 0, of = 1;      ///< from 0
  std::optional<double> seconds = {};  ///< if known
  std::int64_t requests = 0;           ///< roughly
};

/// A search in progress.
struct SearchInProgress {
  std::string_view name = {};      ///< the limiter's
  std::size_t number = 0, of = 1;  ///< from 0
  std::string tried = {};          ///< "6,000 of 50,000 requests"
  std::int64_t count = 0;          ///< what `tried` counts: requests or schedules
  double share = 0;                ///< done, 0 to 1; from 1 on, findings are being made smaller
  std::int64_t worst = 0;          ///< the most units within a window so far, or leases at once
  std::string_view worst_is = "worst";
  double seconds = 0;  ///< since the search began
};

/// The progress of a search, like real_progress_text().
std::string search_progress_text(const SearchInProgress& search, std::size_t columns);

/// The progress of a run under the real clock, as a line of at most `columns` columns; drops the
/// least important parts first.
std::string real_progress_text(const RunInProgress& run, const traffic::RealProgress& progress,
                               std::size_t columns);

}  // namespace rlctl::cli::burst
