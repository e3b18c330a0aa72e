#pragma once

#include <memory>

#include "cli/trial/command.h"
#include "cli/trial/report.h"

namespace rlctl::cli::burst {

/// Reads the plan's log, and warns about lines that it cannot read; null if the plan has no log.
/// Throws what replay::Recording throws, and UsageError if a limiter of the plan does not accept
/// the highest cost in the log.
std::shared_ptr<const replay::Recording> read_recording(const trial::Plan& plan,
                                                        const Invocation& invocation);

/// Sends the traffic of a report's plan through each of its limiters in turn, and adds the runs to
/// the report. Removes the keys after each run, even if an error or Ctrl-C ends it; after Ctrl-C
/// the report covers the decisions so far. A line of JSON is written for each
/// decision, if `write_lines` is not empty.
void run_plan(trial::Report& report, Invocation& invocation, const trial::WriteLines& write_lines);

}  // namespace rlctl::cli::burst
