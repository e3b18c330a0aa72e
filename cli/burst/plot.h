#pragma once

#include <string>

#include "cli/burst/report.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

/// Appends the picture of a report, as wide as the terminal: for each algorithm what was allowed
/// within the last window, against the limit, and a row each of what was allowed and denied when;
/// all on one time axis and one scale. Nothing where nothing was sent.
void append_burst_plot(std::string& out, const BurstReport& report, const Look& look);

}  // namespace rlctl::cli
