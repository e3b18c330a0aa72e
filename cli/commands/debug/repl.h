#pragma once

#include <chrono>
#include <optional>

#include "cli/app/command.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/plan.h"
#include "cli/errors/failure.h"
#include "ldb/session.h"

namespace rlctl::cli::debug {

/// Steps through a script interactively. Reads commands from the terminal, the plan's file or
/// standard input, and answers them in order on standard output.
///
/// `now` is the script's time, in µs since 1970. Without it, the script uses the server's clock; on
/// a private server, the clock stands still at the time of the start.
///
/// At a terminal Ctrl-C stops a running script; a second one, or one while no script runs, ends the
/// session. Returns how the last run of the script ended, or kDone if the user left it before its
/// end. Throws ProblemError if the server does not start a session, and Interrupted.
[[nodiscard]] ExitStatus run_by_hand(const Plan& plan, Invocation& invocation, Place& place,
                                     const ldb::Debuggee& debuggee,
                                     std::optional<std::chrono::microseconds> now);

}  // namespace rlctl::cli::debug
