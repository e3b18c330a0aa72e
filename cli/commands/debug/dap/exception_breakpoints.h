#pragma once

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"

// An editor's breakpoints at errors: the request setExceptionBreakpoints.

namespace rlctl::cli::debug::dap {

/// The filters of setExceptionBreakpoints, for the answer to initialize.
Json exception_filters();

/// Answers the request. Throws UsageError.
Json set_exception_breakpoints(Script& script, const Json& arguments);

}  // namespace rlctl::cli::debug::dap
