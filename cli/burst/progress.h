#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/burst/plan.h"
#include "cli/term/progress.h"
#include "traffic/real_run.h"

namespace rlctl::cli {

/// Which of the runs it is about, and how long it is to take.
struct RunInProgress {
  std::string_view name = {};
  std::size_t number = 0, of = 1;      ///< from 0
  std::optional<double> seconds = {};  ///< where that is known
  std::int64_t requests = 0;           ///< about so many
  bool is_closed_loop = false;
};

/// How far a run under the real clock is, in at most so many columns: what matters least is left
/// out first.
[[nodiscard]] std::string real_progress_text(const RunInProgress& run,
                                             const traffic::RealProgress& progress,
                                             std::size_t columns);

/// How far all runs together are, on a terminal.
class BurstProgress {
 public:
  /// `length`: of a log, from its first request to its last.
  BurstProgress(const BurstPlan& plan, bool enabled,
                std::optional<std::chrono::microseconds> length)
      : plan_(plan), length_(length), progress_(enabled) {}

  /// Of run `number`, from 0, under the virtual clock.
  void update(std::size_t number, std::int64_t done, std::int64_t size);
  /// The same under the real one.
  void update(std::size_t number, std::string_view name, std::int64_t size,
              const traffic::RealProgress& progress);
  /// A suggestion for run `number`: the share of the work that is done, and which limit is tried.
  void suggest(std::size_t number, std::string_view name, double share, std::int64_t limit);
  /// Before anything else is written to stderr.
  void clear() noexcept { progress_.clear(); }

 private:
  const BurstPlan& plan_;
  std::optional<std::chrono::microseconds> length_;
  Progress progress_;
};

}  // namespace rlctl::cli
