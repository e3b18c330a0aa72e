#pragma once

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"

// What stops a script other than a breakpoint at a line: errors.

namespace rlctl::cli::debug::dap {

/// The filters of setExceptionBreakpoints, for the answer to initialize.
Json exception_filters();

/// Answers the request. Throws UsageError.
Json set_exception_breakpoints(Script& script, const Json& arguments);

}  // namespace rlctl::cli::debug::dap
