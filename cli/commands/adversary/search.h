#pragma once

#include "cli/app/command.h"
#include "cli/trial/report.h"

namespace rlctl::cli::adversary {

/// Searches against each limiter of a report's plan in turn, and adds the runs to the report. After
/// Ctrl-C the report covers the findings so far.
void search_plan(trial::Report& report, Invocation& invocation);

}  // namespace rlctl::cli::adversary
