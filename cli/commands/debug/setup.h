#pragma once

#include <string_view>

#include "base/wait.h"
#include "cli/commands/debug/plan.h"
#include "keyspace/keyspace.h"
#include "redis/connection.h"
#include "script/script.h"

namespace rlctl::cli::debug {

/// A script with "#!" in the form that the host accepts, or unchanged if it accepts none.
script::AcceptedScript accepted_source(script::ScriptHost& host,
                                       const debugger::Debuggee& debuggee);
/// Warns of what was changed for that; nothing if `change` is empty.
void warn_of_change(const Plan& plan, std::string_view change, std::string_view command);
/// Whether the call of the plan has a setup. A server that is in use is not prepared, whatever the
/// configuration says of the script.
bool has_setup(const Plan& plan);
/// Runs what --setup says for the plan's call, on keys in this process or on a server. Throws
/// UsageError and redis::Error if it fails.
void prepare(const Plan& plan, keyspace::Keyspace& keys, const Interrupt& interrupt);
void prepare(const Plan& plan, redis::Connection& connection);

}  // namespace rlctl::cli::debug
