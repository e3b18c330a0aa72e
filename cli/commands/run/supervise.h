#pragma once

#include "cli/app/command.h"
#include "cli/commands/run/admission.h"
#include "cli/commands/run/program.h"
#include "cli/server/connection.h"

namespace rlctl::cli::run {

/// Runs the program in a child process, renews the lease while it runs, and releases it afterwards.
/// The child has the terminal, the process group and the descriptors of this process. Forwards
/// signals, except those from the terminal, which reach the child without help; stops and
/// continues with the child. Returns the child's status; if the child was killed by a signal, this
/// process dies by it. Throws ProblemError if the program cannot be executed, after the lease was
/// released.
[[nodiscard]] ExitStatus supervise(const Plan& plan, const Program& program, HeldLease held,
                                   Connector& connector, Invocation& invocation);

}  // namespace rlctl::cli::run
