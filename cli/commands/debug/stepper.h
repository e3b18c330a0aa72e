#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/engine_keys.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/plan.h"
#include "debugger/debugger.h"

namespace rlctl::cli::debug {

/// What a run left.
struct RunEnd {
  std::string missing = {};  ///< which words it may have lacked; empty: none, or not known
  /// A line for each key that changed, or one that says why there is none; empty if nothing ran.
  std::vector<std::string> keys = {};
};

/// A script that is stepped through: its runs, from the first line or from the original state, and
/// what each left. It knows no terminal: repl.cc shows one there, the folder dap in an editor.
///
/// The clock stands still, so that a run that is repeated has the same result.
class Stepper {
 public:
  /// The plan and the keys must outlive this. `options`: without what the plan gives.
  Stepper(const Plan& plan, const EngineKeys& keys, debugger::Debugger::Options options);
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  /// Starts a run, on the state that the last one left.
  debugger::Halt begin();
  /// Leaves the script, and prepares for begin() to run it as its file is now, from the original
  /// state. Returns whether the file has changed. Throws UsageError if the file cannot be read or
  /// does not compile; then nothing has changed.
  bool reset();
  /// Leaves the script, and prepares for begin() to repeat the run, from the original state.
  void rewind();
  /// Whether the run has ended with a decision that denies, as the plan reads the reply.
  bool was_denied() const;
  /// Tells what the run left. Call it once, after its end.
  RunEnd end(bool utf8);
  /// How the last run ended; kDone if the user left it, or made it end.
  ExitStatus status() const;

  debugger::Debugger& debugger() noexcept { return debugger_; }
  const debugger::Debugger& debugger() const noexcept { return debugger_; }
  const debugger::Debuggee& debuggee() const noexcept { return debuggee_; }

 private:
  const Plan& plan_;
  const EngineKeys& first_;
  debugger::Debuggee debuggee_;
  keyspace::Keyspace keys_;
  debugger::Debugger debugger_;
  KeyStates before_;  ///< the last run
};

}  // namespace rlctl::cli::debug
