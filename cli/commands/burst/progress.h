#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/commands/burst/plan.h"
#include "cli/terminal/progress.h"
#include "replay/recording.h"
#include "traffic/real_run.h"

namespace rlctl::cli::burst {

/// A run under the real clock, and how long it will take.
struct RunInProgress {
  std::string_view name = {};
  std::size_t number = 0, of = 1;      ///< from 0
  std::optional<double> seconds = {};  ///< if known
  std::int64_t requests = 0;           ///< roughly
  bool is_closed_loop = false;
};

/// The progress of a run under the real clock, as a line of at most `columns` columns; drops the
/// least important parts first.
[[nodiscard]] std::string real_progress_text(const RunInProgress& run,
                                             const traffic::RealProgress& progress,
                                             std::size_t columns);

/// Whether stderr is a terminal that may show progress.
[[nodiscard]] bool shows_progress(const Plan& plan);

/// The progress of all runs together, on a terminal.
class RunsProgress {
 public:
  /// `recording`: the plan's log, or null.
  RunsProgress(const Plan& plan, const replay::Recording* recording)
      : plan_(plan), recording_(recording), progress_(shows_progress(plan)) {}

  /// Run `number`, from 0, under the virtual clock: its share of the work, and what all runs do.
  void update(std::size_t number, double share, std::string_view what);
  /// Run `number` under the real clock.
  void update(std::size_t number, std::string_view name, std::int64_t size,
              const traffic::RealProgress& progress);
  /// A suggestion for run `number`: the share of the work done, and the limit being tried.
  void suggest(std::size_t number, std::string_view name, double share, std::int64_t limit);
  /// How far a difference is shrunk: requests sent, and the most that will be.
  void shrink(std::int64_t asked, std::int64_t most);
  /// Call this before writing anything else to stderr.
  void clear() noexcept { progress_.clear(); }

 private:
  const Plan& plan_;
  const replay::Recording* recording_;
  Progress progress_;
};

}  // namespace rlctl::cli::burst
