#pragma once

#include <string>

#include "cli/burst_report.h"
#include "cli/terminal.h"

namespace rlctl::cli {

/// Appends a report as people read it: what was asked, a table, the picture, and the command that
/// repeats it.
void append_burst_text(std::string& out, const BurstReport& report, const Look& look);

}  // namespace rlctl::cli
