#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/debug/engine_keys.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/plan.h"
#include "cli/commands/debug/view.h"
#include "debugger/engine_debugger.h"
#include "debugger/run.h"

namespace rlctl::cli::debug {

/// Steps through a script interactively. Reads commands from the terminal, the plan's file or
/// standard input, and answers them in order on standard output.
///
/// At a terminal Ctrl-C stops a running script; a second one, or one while no script runs, ends the
/// session. Returns how the last run of the script ended, or kDone if the user left it before its
/// end. Throws Interrupted.
ExitStatus run_by_hand(const Plan& plan, Invocation& invocation, const EngineKeys& keys);

/// What happens to the session after a command.
enum class AfterCommand {
  kGoOn,     ///< read the next command
  kEnded,    ///< the command ended the script
  kRestart,  ///< run the script again, as its file is now, from the original state
  kAgain,    ///< run the script again, on the state that it left
  kQuit,
};

/// The commands of `rlctl debug`: those of Redis's own debugger, with their letters, and more,
/// which that debugger lacks. Use one object per session.
struct Commands {
  debugger::Debugger& debugger;
  /// The same debugger, if it runs the script in this process; null: Redis's own.
  debugger::EngineDebugger* engine = nullptr;
  View& view;
  std::vector<std::string> keys = {};  ///< of the script

  // ---- What run() sets ----

  bool was_wrong = false;  ///< the last line was invalid, impossible then, or ended in an error
  AfterCommand after = AfterCommand::kGoOn;
  std::string last = {};  ///< what an empty line repeats

  /// Runs a line as typed and answers through the view; an empty line repeats the last one. Errors
  /// in the line are reported through the view, too. Throws Interrupted, as Debugger does.
  AfterCommand run(std::string_view line);
  /// Reports an error of the last line.
  void wrong(std::string_view message);
  /// Returns the completions of a line's last word (commands, variables, lines, topics), sorted,
  /// numbers by their value.
  std::vector<std::string> complete(std::string_view line) const;
};

}  // namespace rlctl::cli::debug
