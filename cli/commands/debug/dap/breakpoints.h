#pragma once

#include <vector>

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"

namespace rlctl::cli::debug::dap {

/// Answers setBreakpoints. Throws UsageError; for a breakpoint that cannot be set, the answer says
/// why.
Json set_breakpoints(Script& script, const Json& arguments);

/// Removes the breakpoints at which the script, once it has started, never stops. Returns the
/// bodies of the events that say so.
std::vector<Json> drop_lost_breakpoints(Script& script);

}  // namespace rlctl::cli::debug::dap
