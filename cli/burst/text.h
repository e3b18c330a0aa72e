#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/burst/report.h"
#include "cli/term/table.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

// A report for people, as text and as a plot.

/// A command that can be pasted into a shell, on as many lines as it needs.
void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look);

/// A row for each script of others: its name, and how its reply is read.
void append_script_rows(TextBlock& block, const BurstPlan& plan);

/// The row for the virtual clock.
void append_virtual_clock(TextBlock& block);

/// A row whose text is wrapped at blanks if it is too wide.
void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look);

/// Exact to the µs, since a limiter may be off by one: 59.999999 s is not 60 s.
[[nodiscard]] std::string exact_text(std::chrono::microseconds span);
/// "0", "+59.999999 s"
[[nodiscard]] std::string exact_offset_text(std::chrono::microseconds offset);
/// "from the beginning of a window, 2026-01-01T00:00:00Z": the origin of such offsets.
[[nodiscard]] std::string window_origin_text(std::chrono::microseconds begin);

/// The traffic and the limits, a table, the plot, and the command that repeats the run.
void append_burst_text(std::string& out, const BurstReport& report, const Look& look);

/// A plot as wide as the terminal. For each algorithm it shows the units allowed within the last
/// window against the limit, and below them the allowed and denied requests, all on one time axis
/// and one scale. Appends nothing if no request was sent.
void append_burst_plot(std::string& out, const BurstReport& report, const Look& look);

/// The same plot as an SVG document: one panel per algorithm, light or dark to match the reader's
/// screen, without embedded scripts or fonts.
[[nodiscard]] std::string burst_svg(const BurstReport& report);

}  // namespace rlctl::cli
