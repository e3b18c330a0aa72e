#pragma once

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"

// What stops a script other than a breakpoint at a line: calls of Redis, and errors.

namespace rlctl::cli::debug::dap {

/// The filters of setExceptionBreakpoints, for the answer to initialize.
Json exception_filters();

/// Answer the requests. Throw UsageError; for what is not the name of a call, the answer says so.
Json set_function_breakpoints(Script& script, const Json& arguments);
Json set_exception_breakpoints(Script& script, const Json& arguments);

}  // namespace rlctl::cli::debug::dap
