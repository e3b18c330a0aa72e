#pragma once

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
std::string draw_svg(const Report& report);

// --- What both have in common --------------------------------------------------------------------

/// Whether a picture shows the units allowed to one of several keys: the key of the worst window.
/// The requests that it counts are those of all keys.
bool draws_one_key(const Report& report);

/// What a picture shows of one run, in columns of the axis.
struct Panel {
  std::vector<traffic::Timeline::Bin> requests = {};
  /// The units allowed within the last window: see allowed_within_window(). Empty if not drawn.
  std::vector<std::int64_t> within = {};
};

/// A picture of all runs, on one axis.
struct Picture {
  std::chrono::microseconds window{1};  ///< of the first limit, which is the one drawn
  std::int64_t limit = 1;               ///< units
  /// Whether to draw the units allowed within a window. False for a log with several keys, and with
  /// refunds.
  bool has_chart = true;
  TimeAxis axis = {};              ///< relative to Run::begin
  std::vector<Panel> panels = {};  ///< one for each run, in order
};
Picture picture_of(const Report& report, std::size_t most_columns);

/// For each column, the most units allowed within one window that ends there, which is what a limit
/// bounds. Counts whole bins of the timeline, so never more than was allowed. Empty if the bins are
/// too coarse for the window.
std::vector<std::int64_t> allowed_within_window(const traffic::Timeline& timeline,
                                                const TimeAxis& axis,
                                                std::chrono::microseconds window);

}  // namespace rlctl::cli::burst
