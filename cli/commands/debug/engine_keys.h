#pragma once

#include <string>

#include "cli/app/command.h"
#include "cli/commands/debug/plan.h"
#include "debugger/run.h"
#include "keyspace/keyspace.h"

namespace rlctl::cli::debug {

/// The keys on which a script is debugged in this process.
struct EngineKeys {
  keyspace::Keyspace keyspace = {};  ///< its clock shows the time of the script
  std::string where = {};            ///< where the script runs, and what was copied, in words
  /// The name of the server that the script's keys were copied from; empty if none were.
  std::string copied_from = {};
};

/// Copies the script's keys from the server that the connection options name, which is only read.
/// There are no keys if no server is named and none answers, or with a log, for which no server is
/// asked. Unless the plan is quiet, reports on stderr what was copied. Throws redis::Error,
/// UsageError for a type that this process does not have, and Interrupted.
EngineKeys copy_keys(const Plan& plan, Invocation& invocation);

/// A warning that a run has used keys that were not copied, whose contents it did not see and which
/// may have changed its result. Empty if there are none.
std::string other_keys_text(const EngineKeys& keys, const debugger::RunResult& result);

}  // namespace rlctl::cli::debug
