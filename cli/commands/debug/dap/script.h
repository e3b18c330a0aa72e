#pragma once

#include <functional>
#include <string>

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/engine_keys.h"
#include "cli/commands/debug/plan.h"
#include "cli/commands/debug/stepper.h"
#include "cli/commands/debug/view.h"

namespace rlctl::cli::debug::dap {

/// How the client counts lines and columns.
struct Counting {
  int first_line = 1, first_column = 1;

  /// The client's number of a line of the script.
  int line(int of_script) const noexcept { return of_script - 1 + first_line; }
};

/// The script that was launched, and what the client calls it.
class Script {
 public:
  /// The plan and the keys must outlive this.
  Script(const Plan& plan, const EngineKeys& keys, Counting counting,
         debugger::EngineDebugger::Options options);
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  EngineStepper& stepper() noexcept { return stepper_; }
  debugger::EngineDebugger& debugger() noexcept { return stepper_.debugger(); }
  const debugger::Debuggee& debuggee() const noexcept { return stepper_.debuggee(); }
  const Counting& counting() const noexcept { return counting_; }

  /// Reads the script's file again, if it has changed, and prepares for another run. Throws as
  /// Stepper::reset() does.
  void reset();
  /// Tells how the run ended and what it left. Call it once, after its end.
  std::string end_text();
  /// Returns `text` cut to what one line shows.
  std::string shortened(std::string text) const { return view_.shortened(std::move(text)); }

  std::string name() const;
  /// The script as a Source of the protocol.
  Json source() const;
  /// Whether a Source of a request is the script.
  bool is_at(const Json& source) const;

 private:
  const Counting counting_;
  EngineStepper stepper_;
  std::string text_;  ///< what the view has written
  View view_;
  std::string path_;  ///< the script's file; empty if it has none
};

// ---- Requests ----

/// Both throw UsageError.
Json source(const Script& script, const Json& arguments);
Json stack_trace(Script& script, const Json& arguments);

}  // namespace rlctl::cli::debug::dap
