#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/bars.h"
#include "cli/trial/report.h"

namespace rlctl::cli::trial {

// A report as a picture, in the terminal and as SVG, and as a page.

/// A plot as wide as the terminal. For each algorithm it shows the units allowed within the last
/// window against the limit, and below them the allowed and denied requests, all on one time axis
/// and one scale. Appends nothing if no request was sent.
void append_plot(std::string& out, const Report& report, const Look& look);

/// The plot as an SVG document: one panel per algorithm, without embedded scripts or
/// fonts.
std::string draw_svg(const Report& report);

/// The report as a page: one HTML document that loads nothing, in which a window of the limit's
/// length is dragged over the requests. It ends with `text`, the report for people; without
/// JavaScript it has the picture instead of the charts. The plan must have asked for it, since it
/// needs Requests::events.
std::string draw_page(const Report& report, std::string_view text);
/// The most requests of a page.
inline constexpr std::int64_t kMostOnPage = 100'000;

// --- What both have in common --------------------------------------------------------------------

/// Whether a picture shows the units allowed to one of several keys: the key of the worst window.
/// The requests that it counts are those of all keys.
bool draws_one_key(const Report& report);

/// From `at` on, this many units were allowed within the last window.
struct Step {
  std::chrono::microseconds at{0};
  std::int64_t units = 0;
};

/// What a picture shows of one run, by times relative to Run::begin.
struct Panel {
  std::vector<traffic::Timeline::Bin> requests = {};  ///< in columns of the axis
  /// The units allowed within the last window: see steps_within_window(); or how many hold a lease.
  /// Empty if not drawn.
  std::vector<Step> steps = {};
};

/// A picture of all runs, on one axis.
struct Picture {
  std::chrono::microseconds window{1};  ///< of the first limit, which is the one drawn
  std::int64_t limit = 1;               ///< units
  /// Whether to draw the units allowed within a window. False for a log with several keys, with
  /// refunds, and if the traffic is too long for the window.
  bool has_chart = true;
  TimeAxis axis = {};              ///< relative to Run::begin
  std::vector<Panel> panels = {};  ///< one for each run, in order
};
Picture picture_of(const Report& report, std::size_t most_columns);

/// What the chart shows with --concurrency or --reserve.
std::string_view chart_words(const Plan& plan);
/// "requests", "acquires" or "reservations".
std::string_view request_words(const Plan& plan);

/// The units allowed within the window that ends at a time, which is what a limit bounds: the first
/// step is at the beginning of the timeline, and the others are where the number changes. Counts
/// whole bins of the timeline, so never more than was allowed. Empty if the bins are too coarse for
/// the window.
std::vector<Step> steps_within_window(const traffic::Timeline& timeline,
                                      std::chrono::microseconds window);
/// The highest step in each column of the axis, whose times are those of the steps.
std::vector<std::int64_t> highest_in_columns(std::span<const Step> steps, const TimeAxis& axis);
/// "9984 units proceed later, until +59.9 s", of units that do so after the traffic; empty if there
/// are none.
std::string later_text(const Report& report, const Run& run, const TimeAxis& axis);

}  // namespace rlctl::cli::trial
