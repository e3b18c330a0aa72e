#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/burst/report.h"
#include "cli/terminal/bars.h"

namespace rlctl::cli::burst {

// A report as a picture, in the terminal and as SVG.

/// A plot as wide as the terminal. For each algorithm it shows the units allowed within the last
/// window against the limit, and below them the allowed and denied requests, all on one time axis
/// and one scale. Appends nothing if no request was sent.
void append_plot(std::string& out, const Report& report, const Look& look);

/// The plot as an SVG document: one panel per algorithm, light or dark to match the reader's
/// screen, without embedded scripts or fonts.
[[nodiscard]] std::string draw_svg(const Report& report);

// --- What both have in common --------------------------------------------------------------------

/// Whether a picture shows the units allowed to one of several keys: the key of the worst window.
/// The requests that it counts are those of all keys.
[[nodiscard]] bool draws_one_key(const Report& report);

/// The scale that all panels of a picture share.
struct Scale {
  /// The extent of the traffic, relative to Run::begin.
  std::chrono::microseconds begin{0}, end{0};
  std::chrono::microseconds window{1};  ///< of the first limit, which is the one drawn
  std::int64_t limit = 1;               ///< units
  std::int64_t most = 0;                ///< the most units within a window
  /// Whether to draw the units allowed within a window. False for a log with several keys, and with
  /// refunds.
  bool has_chart = true;
  /// Columns begin at multiples of their width from this, as the bins of the timelines do.
  std::optional<std::chrono::microseconds> zero = {};
  /// The instant of Run::begin, if the report shows_dates().
  std::optional<std::chrono::microseconds> recorded_at = {};
};

[[nodiscard]] Scale scale_of(const Report& report);

/// The axis of all runs, with at most this many columns.
[[nodiscard]] TimeAxis axis_of(const Scale& scale, std::size_t most_columns);
/// The axis of all runs in a run's own time.
[[nodiscard]] TimeAxis axis_of_run(const TimeAxis& axis, const Run& run);

/// A run's requests in the columns of the axis of all runs.
[[nodiscard]] std::vector<traffic::Timeline::Bin> columns_of(const Run& run, const TimeAxis& axis);
/// The units that a run allowed within the last window, in the same columns: see
/// allowed_within_window(). Empty if they are not drawn.
[[nodiscard]] std::vector<std::int64_t> within_window_of(const Run& run, const TimeAxis& axis,
                                                         const Scale& scale);

/// For each column, the most units allowed within one window that ends there, which is what a limit
/// bounds. Counts whole bins of the timeline, so never more than was allowed. Empty if the bins are
/// too coarse for the window.
[[nodiscard]] std::vector<std::int64_t> allowed_within_window(const traffic::Timeline& timeline,
                                                              const TimeAxis& axis,
                                                              std::chrono::microseconds window);

}  // namespace rlctl::cli::burst
