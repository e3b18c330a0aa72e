#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "debugger/breakpoint.h"
#include "debugger/run.h"
#include "lua/frames.h"

// The debugger that the user of rlctl debug drives, whatever runs the script: the engine
// (debugger/engine_debugger.h) or Redis's own debugger (ldb/redis_debugger.h). It knows no
// terminal: what happened at a stop is a Halt.

namespace rlctl::debugger {

/// An expression; the script stops when its value changes.
struct Watch {
  std::int64_t number = 0;
  std::string expression = {};
  lua::Evaluation last = {};  ///< its value when it last had one
};

/// Where and why a script stopped, and what it did since the previous stop.
struct Halt {
  enum class Why {
    kStarted,
    kStepped,
    kBreakpoint,
    kCalledFor,  ///< the script called redis.breakpoint()
    kWatch,
    kStopped,  ///< by the user, or by Redis's debugger because the script has run for long
    kError,    ///< at an error that nothing in the script catches
    kEnded,    ///< see Debugger::result()
  } why = Why::kStepped;
  int line = 0;  ///< if kEnded, the last line
  /// The last calls if there were many; `calls_before` counts the earlier ones.
  std::vector<Call> calls = {};
  std::int64_t calls_before = 0;
  std::vector<ScriptMessage> messages = {};  ///< as `calls`
  std::int64_t messages_before = 0;
  std::vector<std::string> errors = {};     ///< that Redis's debugger told without a call
  std::vector<lua::Variable> changed = {};  ///< visible variables that are new or changed
  /// kBreakpoint: why its condition could not be evaluated.
  std::string condition_error = {};
  struct WatchChange {
    Watch watch = {};  ///< with its current value
    lua::Evaluation before = {};
  };
  std::string error = {};                 ///< kError: its message, without its place
  std::vector<WatchChange> watches = {};  ///< kWatch: the watches that changed
};

/// What Redis's debugger cannot do: the end of a sentence that begins with its name, as in "shows
/// no upvalues".
struct Lack : UsageError {
  using UsageError::UsageError;
};

/// Steps through a script. Breakpoints persist across runs.
class Debugger {
 public:
  virtual ~Debugger() = default;
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  /// Runs from the beginning, after leaving the current run. Throws Interrupted, like everything
  /// that moves.
  virtual Halt start() = 0;
  /// Ends the run at its current line.
  virtual void leave() noexcept = 0;
  /// The debuggee has another source, which the next start() runs. Leaves the script.
  void read_source();

  // Only while running().

  /// Runs to the next line.
  virtual Halt step() = 0;
  /// Runs to the next line of this function or of a caller, if the debugger can.
  virtual Halt next() = 0;
  /// Runs to a breakpoint, redis.breakpoint(), a watch change, a stop by the user, or the end.
  virtual Halt go_on() = 0;
  /// Ends the script at its current line.
  virtual Halt abort_script() = 0;

  /// The active functions, innermost first.
  virtual std::vector<lua::Frame> backtrace() = 0;
  /// The visible variables, in the order of their declaration. Of several with one name, only the
  /// visible one.
  virtual std::vector<lua::Variable> variables() = 0;
  /// Finds the value of a variable or, if the debugger can, of an expression. Throws Lack.
  virtual lua::Evaluation look_up(std::string_view expression) = 0;
  /// Runs code, an expression or statements.
  virtual lua::Evaluation evaluate(std::string_view code) = 0;

  // Usable at any time.

  /// Calls Redis. Throws UsageError for what the debugger cannot call.
  virtual Call call(const std::vector<std::string>& words) = 0;
  /// What the debugger lacked for the answers since the last call of this: see Lack.
  virtual std::vector<std::string> take_lacks() { return {}; }
  /// Adds or replaces the breakpoint at a line. Throws UsageError if the script never stops at that
  /// line, naming the nearest ones at which it does, and for what the breakpoint must not be.
  virtual void add_breakpoint(Breakpoint breakpoint);
  /// Returns false if there is no breakpoint at this line.
  virtual bool remove_breakpoint(int line);
  virtual void clear_breakpoints();
  const std::map<int, Breakpoint>& breakpoints() const noexcept { return breakpoints_; }
  /// Removes the breakpoints at lines at which the script never stops, and returns their lines;
  /// none if the script does not compile.
  std::vector<int> drop_lost_breakpoints();
  /// The lines of the source at which the script can stop, in order; empty if it does not compile.
  const std::set<int>& stop_lines() const noexcept { return stop_lines_; }

  virtual bool running() const noexcept = 0;
  /// Whether the user asked the script to stop.
  virtual bool wants_stop() const = 0;
  /// The current line; after the end, the last one.
  int line() const noexcept { return line_; }
  /// The result once the script has ended.
  const RunResult& result() const noexcept { return result_; }

 protected:
  /// The debuggee must outlive the debugger.
  explicit Debugger(const Debuggee& debuggee);

  const Debuggee& debuggee_;
  std::map<int, Breakpoint> breakpoints_;
  int line_ = 0;
  RunResult result_;

 private:
  void find_stop_lines();

  std::set<int> stop_lines_;
};

}  // namespace rlctl::debugger
