#pragma once

#include "exec/program.h"
#include "simulation/measurement.h"
#include "simulation/real_run.h"
#include "traffic/traffic.h"

// Runs a program under the real clock, as simulation/real_run.h runs a script.
// cli/commands/burst/runs.cc calls it.

namespace rlctl::exec {

/// Sends requests to a program that has started when they are due, each with the real time. As many
/// are in flight as the program allows: a slow program makes the others late. The outcome has a
/// Pace. The run's script and connections are not used.
///
/// Ends early, without an exception, if the interrupt is raised; the outcome covers the answered
/// requests. Throws ProgramError.
simulation::Outcome run_in_real_time(Program& program, traffic::Traffic& traffic,
                                     const simulation::RealRun& run);

}  // namespace rlctl::exec
