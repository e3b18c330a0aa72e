#pragma once

#include <string>

#include "cli/commands/burst/report.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {

/// A report for people: the traffic and the limits, a table, the plot, and the command that repeats
/// the run.
void append_burst_text(std::string& out, const BurstReport& report, const Look& look);

}  // namespace rlctl::cli
