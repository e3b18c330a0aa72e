#pragma once

#include <string>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/engine_keys.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/plan.h"
#include "debugger/engine_debugger.h"

namespace rlctl::cli::debug {

/// A script that is stepped through: its runs, from the first line or from the original state, and
/// what each left. It knows no terminal: repl.cc shows one there, the folder dap in an editor.
class Stepper {
 public:
  virtual ~Stepper() = default;
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  /// Starts a run, on the state that the last one left.
  virtual debugger::Halt begin() = 0;
  /// Leaves the script, and prepares for begin() to run it as its file is now, from the original
  /// state. Returns whether the file has changed. Throws UsageError if the file cannot be read;
  /// then nothing has changed.
  virtual bool reset() = 0;
  /// Tells what the run left, in lines. Call it once, after its end.
  virtual std::vector<std::string> end(bool utf8) = 0;
  /// How the last run ended; kDone if the user left it, or made it end.
  ExitStatus status();

  virtual debugger::Debugger& debugger() noexcept = 0;
  const debugger::Debuggee& debuggee() const noexcept { return debuggee_; }

 protected:
  explicit Stepper(const Plan& plan) : plan_(plan), debuggee_(plan.debuggee) {}
  /// The lines that end() begins with: which words the run may have lacked.
  std::vector<std::string> missing_lines();
  /// Formats the keys that have changed since `before_`, or that there are none.
  std::vector<std::string> key_lines(const KeyStates& after, bool utf8) const;

  const Plan& plan_;
  debugger::Debuggee debuggee_;
  KeyStates before_;  ///< the last run
};

/// Steps through a script in this process. The clock stands still, so that a run that is repeated
/// has the same result.
class EngineStepper final : public Stepper {
 public:
  /// The plan and the keys must outlive this. `options`: without what the plan gives.
  EngineStepper(const Plan& plan, const EngineKeys& keys,
                debugger::EngineDebugger::Options options);

  debugger::Halt begin() override;
  /// Throws UsageError for a file that does not compile, too.
  bool reset() override;
  std::vector<std::string> end(bool utf8) override;

  debugger::EngineDebugger& debugger() noexcept override { return debugger_; }

 private:
  const EngineKeys& first_;
  keyspace::Keyspace keys_;
  debugger::EngineDebugger debugger_;
};

}  // namespace rlctl::cli::debug
