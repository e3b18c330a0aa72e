#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/plan.h"
#include "cli/errors/failure.h"
#include "ldb/debugger.h"
#include "redis/connection.h"
#include "stored/backup.h"

namespace rlctl::cli::debug {

/// What became of a script's keys and server once it has ended.
struct RunEnd {
  std::string missing = {};  ///< which words it may have lacked; empty: none, or not known
  bool is_over = false;      ///< only reset() may follow: the server is gone, or may hang
  /// A line for each key that changed, or one that says why there is none; empty if nothing ran.
  std::vector<std::string> keys = {};
};

/// A script that is stepped through on its server: its runs, from the first line or from the
/// original state, and what each left. It knows no terminal: repl.cc shows one there, the folder
/// dap in an editor.
///
/// Without the plan's time, the script uses the server's clock; on a private server, the clock
/// stands still at the time at which the stepper was made.
class Stepper {
 public:
  using OnMessage = std::function<void(int line, const std::string& text)>;

  /// The plan and the place must outlive this. `wants_stop`, `on_message`, `stops_at_errors`: see
  /// ldb::Debugger::Options.
  Stepper(const Plan& plan, Place& place, std::function<bool()> wants_stop,
          OnMessage on_message = {}, bool stops_at_errors = false);
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  /// Starts a run, on the state that the server has. Throws ProblemError if the server does not
  /// start one.
  ldb::Halt begin();
  /// Leaves the script, and prepares for begin() to run it as its file is now, from the original
  /// state if the server is private. Returns whether the file has changed. Throws UsageError if the
  /// file cannot be read or does not compile; then nothing has changed.
  bool reset();
  /// Leaves the script, and prepares for begin() to repeat the run on a private server, from the
  /// original state.
  void rewind();
  /// Whether the run has ended with a decision that denies, as the plan reads the reply.
  bool was_denied() const;
  /// Tells what the run left. Call it once, after its end.
  RunEnd end(bool utf8);
  /// Whether a script that is left now continues to its end in the server.
  bool runs_on_if_left() const noexcept { return plan_.sync && debugger_.running(); }
  /// How the last run ended; kDone if the user left it, or made it end.
  ExitStatus status() const;
  /// Calls Redis while no script runs; none if no server keeps the state that the script left.
  std::optional<ldb::Call> call_afterwards(const std::vector<std::string>& words);

  ldb::Debugger& debugger() noexcept { return debugger_; }
  const ldb::Debugger& debugger() const noexcept { return debugger_; }
  const ldb::Debuggee& debuggee() const noexcept { return debuggee_; }

 private:
  ldb::Debugger::Options options(std::function<bool()> wants_stop, OnMessage on_message,
                                 bool stops_at_errors) const;

  const Plan& plan_;
  Place& place_;
  ldb::Debuggee debuggee_;
  std::optional<std::chrono::microseconds> now_;
  ldb::Debugger debugger_;
  /// What reset() restores on a private server; not set before the first run.
  std::optional<std::vector<stored::SavedKey>> first_state_;
  std::optional<KeyWatch> key_watch_;
};

}  // namespace rlctl::cli::debug
