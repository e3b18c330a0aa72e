#pragma once

#include "exec/program.h"
#include "traffic/measurement.h"
#include "traffic/real_run.h"
#include "traffic/traffic.h"

// Runs a program under the real clock, as traffic/real_run.h runs a script.
// cli/commands/burst/runs.cc calls it.

namespace rlctl::exec {

/// Sends requests to a program that has started when they are due, each with the real time. As many
/// are in flight as the program allows: a slow program makes the others late. The outcome has a
/// Pace. The run's script and connections are not used.
///
/// Ends early, without an exception, if the interrupt is raised; the outcome covers the answered
/// requests. Throws ProgramError.
traffic::Outcome run_in_real_time(Program& program, traffic::Traffic& traffic,
                                  const traffic::RealRun& run);

}  // namespace rlctl::exec
