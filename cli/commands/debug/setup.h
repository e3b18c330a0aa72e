#pragma once

#include "base/wait.h"
#include "cli/commands/debug/plan.h"
#include "keyspace/keyspace.h"
#include "redis/connection.h"

namespace rlctl::cli::debug {

/// Whether the call of the plan has a setup. A server that is in use is not prepared, whatever the
/// configuration says of the script.
bool has_setup(const Plan& plan);
/// Runs what --setup says for the plan's call, on keys in this process or on a server. Throws
/// UsageError and redis::Error if it fails.
void prepare(const Plan& plan, keyspace::Keyspace& keys, const Interrupt& interrupt);
void prepare(const Plan& plan, redis::Connection& connection);

}  // namespace rlctl::cli::debug
