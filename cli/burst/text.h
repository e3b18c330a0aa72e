#pragma once

#include <string>
#include <vector>

#include "cli/burst/report.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

// A report for people, as text and as a picture.

/// A command that can be pasted into a shell, on as many lines as it needs.
void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look);

/// The traffic and the limits, a table, the picture, and the command that repeats it.
void append_burst_text(std::string& out, const BurstReport& report, const Look& look);

/// A picture as wide as the terminal. It shows for each algorithm what was allowed within the last
/// window, against the limit, and below it the requests that were allowed and denied; all on one
/// time axis and one scale. Appends nothing if nothing was sent.
void append_burst_plot(std::string& out, const BurstReport& report, const Look& look);

/// The same picture as an SVG document: a panel for each algorithm, light or dark as the reader's
/// screen is, without scripts and fonts of its own.
[[nodiscard]] std::string burst_svg(const BurstReport& report);

}  // namespace rlctl::cli
