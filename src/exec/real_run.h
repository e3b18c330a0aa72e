#pragma once

#include <chrono>
#include <optional>

#include "exec/program.h"
#include "traffic/measurement.h"
#include "traffic/real_run.h"
#include "traffic/traffic.h"

// Runs a program under the real clock, as traffic/real_run.h runs a script.
// cli/commands/burst/session.cc calls it.

namespace rlctl::exec {

/// Sends requests to a program that has started, each with the real time: on the traffic's
/// schedule, or without one as fast as they are answered, for `duration` or until the traffic ends.
/// As many requests are in flight as the program allows: on a schedule, a slow program makes the
/// others late. The outcome has a Timing. The run's script and connections are not used.
///
/// Ends early, without an exception, if the interrupt is raised; the outcome covers the answered
/// requests. Throws ProgramError.
traffic::Outcome run_on_schedule(Program& program, traffic::Traffic& traffic,
                                 const traffic::RealRun& run);
traffic::Outcome run_flat_out(Program& program, traffic::Traffic& traffic,
                              const traffic::RealRun& run,
                              std::optional<std::chrono::microseconds> duration);

}  // namespace rlctl::exec
