#pragma once

#include <string>

#include "cli/burst/report.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

/// Appends what a report says under the real clock, of times of times: tables of response and
/// service times, a line for each run, one of rates, and what these words mean.
void append_burst_times(std::string& out, const BurstReport& report, const Look& look);

}  // namespace rlctl::cli
