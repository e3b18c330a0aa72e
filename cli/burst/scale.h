#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/burst/report.h"
#include "cli/term/time_axis.h"

namespace rlctl::cli {

/// What all panels of a report's picture have in common.
struct BurstScale {
  /// Of the traffic, as far as it was sent, from where each run begins: BurstRun::begin.
  std::chrono::microseconds begin{0}, end{0};
  std::chrono::microseconds window{1};  ///< of the first limit, which is the one drawn
  std::int64_t limit = 1;               ///< units, of all keys together
  std::int64_t most = 0;                ///< units within a window, at most
  /// Whether what is allowed within a window is drawn. Not of a log with several keys: each asks as
  /// it likes, so that all of them together say nothing about the limit of one.
  bool has_chart = true;
};

[[nodiscard]] BurstScale scale_of(const BurstReport& report);

/// The axis of all runs, where so many columns fit.
[[nodiscard]] TimeAxis axis_of(const BurstScale& scale, std::size_t most_columns);
/// The same in a run's own time.
[[nodiscard]] TimeAxis axis_of_run(const TimeAxis& axis, const BurstRun& run);

/// A run's requests in the columns of the axis of all runs.
[[nodiscard]] std::vector<traffic::Timeline::Bin> columns_of(const BurstRun& run,
                                                             const TimeAxis& axis);
/// The units that it allowed within the last window, in the same columns: see
/// allowed_within_window(). Empty where they are not drawn.
[[nodiscard]] std::vector<std::int64_t> within_window_of(const BurstRun& run, const TimeAxis& axis,
                                                         const BurstScale& scale);

/// For each column the most requests that were allowed within one window ending there: what a limit
/// is about. Counted in the timeline's bins, so that it is never more than what really was. Empty
/// where bins are too coarse for the window.
[[nodiscard]] std::vector<std::int64_t> allowed_within_window(const traffic::Timeline& timeline,
                                                              const TimeAxis& axis,
                                                              std::chrono::microseconds window);

}  // namespace rlctl::cli
