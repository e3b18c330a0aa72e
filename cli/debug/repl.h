#pragma once

#include <chrono>
#include <optional>

#include "cli/command.h"
#include "cli/debug/place.h"
#include "cli/debug/plan.h"
#include "ldb/session.h"

namespace rlctl::cli {

/// Steps through a script by hand: commands are typed at a terminal, or read from where the plan
/// says, or from standard input, and answered in their order on standard output.
///
/// `now` is what the script takes for the time, in µs since 1970; none: what the server's clock
/// says, and on a private server what it said at the beginning.
///
/// At a terminal Ctrl-C stops a script that runs; one more, or one more where none runs, ends all.
/// Returns how the last run of the script ended, and kDone where the user left it before. Throws
/// ProblemError where the server does not begin a session, and Interrupted.
[[nodiscard]] ExitStatus run_by_hand(const DebugPlan& plan, Invocation& invocation,
                                     DebugPlace& place, const ldb::Debuggee& debuggee,
                                     std::optional<std::chrono::microseconds> now);

}  // namespace rlctl::cli
