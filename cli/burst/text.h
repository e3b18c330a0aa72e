#pragma once

#include <string>
#include <vector>

#include "cli/burst/report.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

// A report for people.

/// A command as it may be pasted into a shell, in as many lines as it takes.
void append_pasteable(std::string& out, const std::vector<std::string>& command, const Look& look);

/// Appends a report as people read it: what was asked, a table, the picture, and the command that
/// repeats it.
void append_burst_text(std::string& out, const BurstReport& report, const Look& look);

/// Appends the picture of a report, as wide as the terminal: for each algorithm what was allowed
/// within the last window, against the limit, and a row each of what was allowed and denied when;
/// all on one time axis and one scale. Nothing where nothing was sent.
void append_burst_plot(std::string& out, const BurstReport& report, const Look& look);

/// A report as a picture that stands by itself, an SVG document: a panel for each algorithm, all on
/// one time axis and one scale; light or dark as the reader's screen is. No scripts, no fonts of
/// its own.
[[nodiscard]] std::string burst_svg(const BurstReport& report);

}  // namespace rlctl::cli
