#pragma once

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"

// What stops a script other than a breakpoint at a line: calls of Redis, and errors.

namespace rlctl::cli::debug::dap {

/// Why none of these stops a script.
inline constexpr const char* kStopsAtLinesOnly =
    "the script has no room for probes: it stops at lines only";

/// The filters of setExceptionBreakpoints, for the answer to initialize.
Json exception_filters();

/// Answer the requests. Throw UsageError; for a call that cannot be stopped at, the answer says
/// why.
Json set_function_breakpoints(Script& script, const Json& arguments);
Json set_exception_breakpoints(Script& script, const Json& arguments);

}  // namespace rlctl::cli::debug::dap
