#pragma once

#include <string>

#include "cli/commands/debug/dap/members.h"
#include "debugger/debugger.h"

namespace rlctl::cli::debug::dap {

constexpr int kThread = 1;  // the only one

/// The body of the event that says why the script, which has not ended, stopped.
Json stopped_body(const debugger::Halt& halt);
/// What the script did since its last stop, a line for each call and message.
std::string done_text(const debugger::Halt& halt);

}  // namespace rlctl::cli::debug::dap
