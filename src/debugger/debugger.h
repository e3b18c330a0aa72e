#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "debugger/breakpoint.h"
#include "debugger/run.h"
#include "keyspace/keyspace.h"
#include "lua/frames.h"

// The debugger that the user of rlctl debug drives: breakpoints with conditions, watches, steps
// over functions, and the values of variables and expressions. It knows no terminal: what happened
// at a stop is a Halt.
//
// The script runs in the engine (lua/runner.h), in a thread of its own, and stands still in a hook
// of Lua while its user looks at it. The two threads take turns: one of them always waits, so
// nothing else is shared or locked. Breakpoints, watches and steps are decided in the hook; the
// threads take turns only where the script halts.
//
// Rejected: a loop of the user's commands within the hook, which would turn each face of the
// debugger inside out; and a coroutine of Lua, which cannot yield from within a call of C.

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
    kStopped,  ///< by the user
    kCall,     ///< before a call: see Debugger::set_call_stops()
    kError,    ///< at an error that nothing in the script catches
    kEnded,    ///< see Debugger::result()
  } why = Why::kStepped;
  int line = 0;  ///< if kEnded, the last line
  /// The last calls if there were many; `calls_before` counts the earlier ones.
  std::vector<Call> calls = {};
  std::int64_t calls_before = 0;
  std::vector<ScriptMessage> messages = {};  ///< the last messages if there were many
  std::vector<lua::Variable> changed = {};   ///< visible variables that are new or changed
  /// kBreakpoint: why its condition could not be evaluated.
  std::string condition_error = {};
  struct WatchChange {
    Watch watch = {};  ///< with its current value
    lua::Evaluation before = {};
  };
  std::string call = {};                  ///< kCall: which of the calls that were asked for
  std::string error = {};                 ///< kError: its message, without its place
  std::vector<WatchChange> watches = {};  ///< kWatch: the watches that changed
};

/// Whether an expression is a variable or a field of one: t.a[2]["b c"][i].
bool is_path(std::string_view expression);

/// "t.a = 1", or "t.a 1" without the sign.
struct Assignment {
  std::string variable = {};    ///< a variable or a field of one, and blanks
  std::string expression = {};  ///< may be empty
  bool has_sign = false;
};
/// Splits code behind the longest variable at its beginning; std::nullopt if it begins with none.
std::optional<Assignment> parse_assignment(std::string_view code);

/// Steps through a script. Breakpoints and watches persist across runs.
class Debugger {
 public:
  struct Options {
    /// Returns true if the script must stop where it is. Called often while the script runs.
    std::function<bool()> wants_stop = {};
    /// Takes the message of a breakpoint that was hit. None: messages are lost.
    std::function<void(int line, const std::string& text)> on_message = {};
    /// The script halts at errors that nothing in it catches, unless set_stops_at_errors().
    bool stops_at_errors = false;
    const Interrupt* interrupt = nullptr;  ///< ends a run with Interrupted
  };

  /// The debuggee and the keys must outlive the debugger.
  Debugger(const Debuggee& debuggee, keyspace::Keyspace& keys, Options options);
  ~Debugger();
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  /// Runs from the beginning, after leaving the current run. Throws Interrupted, like everything
  /// that moves.
  Halt start();
  /// Ends the run at its current line.
  void leave() noexcept;
  /// The debuggee has another source, which the next start() runs. Leaves the script.
  void read_source();
  /// Removes the breakpoints at lines at which the script never stops, and returns their lines.
  std::vector<int> drop_lost_breakpoints();

  // Only while running().

  /// Why the script must halt at its current line, however it came there; std::nullopt if nothing
  /// asks for that.
  std::optional<Halt> reason_to_halt();
  /// Runs to the next line.
  Halt step();
  /// Runs to the next line of this function or of a caller, not of a coroutine that they resume;
  /// stops earlier at a breakpoint, a watch change or a user's stop.
  Halt next();
  /// Runs until this function has returned, to the next line of a caller; from the main function,
  /// to the end. Stops earlier as next() does.
  Halt finish();
  /// Runs to a breakpoint, redis.breakpoint(), a watch change, a stop by the user, or the end.
  Halt go_on();
  /// Runs until the script is at the line with this number, counted as RunResult::lines counts,
  /// whatever else would halt it.
  Halt go_on_to(std::int64_t number);
  /// Ends the script at its current line, whatever it catches.
  Halt abort_script();

  /// The active functions, innermost first.
  std::vector<lua::Frame> backtrace() const;
  /// Lets variables(), evaluate() and set() refer to another function than the innermost, 0: by its
  /// index in backtrace(), until the script moves. Throws UsageError if there is none.
  void select_frame(std::size_t index);
  /// The visible variables: see lua::Stack::variables().
  std::vector<lua::Variable> variables() const;
  /// The names of the fields of a variable or field: "t" or "t.a". Empty if it is not a table.
  std::vector<std::string> fields_of(std::string_view path);
  /// Runs code, an expression or statements, in the selected function.
  lua::Evaluation evaluate(std::string_view code);
  /// Sets a variable or a field of a table, t.a[2] or KEYS[1], to the value of an expression. The
  /// values are what it now is. Throws UsageError for what is neither a variable nor a field.
  lua::Evaluation set(std::string_view variable, std::string_view expression);

  // Usable at any time.

  /// Calls Redis. Throws UsageError for what the engine does not have.
  Call call(const std::vector<std::string>& words);
  /// Adds or replaces the breakpoint at a line. Throws UsageError if the script never stops at that
  /// line, naming the nearest ones at which it does, and for what does not compile.
  void add_breakpoint(Breakpoint breakpoint);
  /// Returns false if there is no breakpoint at this line.
  bool remove_breakpoint(int line);
  const std::map<int, Breakpoint>& breakpoints() const noexcept { return breakpoints_; }
  void clear_breakpoints() { breakpoints_.clear(); }
  /// Throws UsageError for an expression that does not compile.
  const Watch& add_watch(std::string expression);
  bool remove_watch(std::int64_t number);
  const std::vector<Watch>& watches() const noexcept { return watches_; }
  void clear_watches() { watches_.clear(); }
  /// Halts the script before each call of these commands, in lower case, or through "redis.call" or
  /// "redis.pcall", under whatever name the script calls them.
  void set_call_stops(std::set<std::string> calls) { call_stops_ = std::move(calls); }
  /// Whether the script halts at errors.
  void set_stops_at_errors(bool stops) { options_.stops_at_errors = stops; }

  /// Whether the user asked the script to stop.
  bool wants_stop() const { return options_.wants_stop && options_.wants_stop(); }
  bool running() const noexcept { return run_ != nullptr; }
  /// The current line; after the end, the last one.
  int line() const noexcept { return line_; }
  /// The result once the script has ended.
  const RunResult& result() const noexcept { return result_; }
  /// The lines of the source at which the script can stop, in order; empty if it does not compile.
  const std::set<int>& stop_lines() const noexcept { return stop_lines_; }

 private:
  class Run;
  friend class Run;

  /// Where to halt, if nothing else asks for it.
  struct Goal {
    enum class Kind {
      kStart,   ///< at the first line
      kLine,    ///< at the next line
      kCalls,   ///< at a line of one of these calls
      kNumber,  ///< at the line with this number, and nowhere else
      kNothing,
      kAbort,  ///< end the run
    } kind = Kind::kStart;
    std::vector<std::int64_t> calls = {};
    std::int64_t number = 0;
  };

  Run& current() const;
  lua::Evaluation value_of(std::string_view code);
  lua::Evaluation evaluate_watch(const std::string& expression);
  void check_watches();
  bool breaks_here();
  void log(const Breakpoint& breakpoint, const std::string& text) const;
  bool is_wanted(const std::vector<std::string>& words, bool raises, std::string& which) const;
  void require_stop_line(int line) const;
  Halt move(Goal goal);
  Halt halt(Halt::Why why);
  Halt step_back_to(std::size_t first_frame);

  const Debuggee& debuggee_;
  keyspace::Keyspace& keys_;
  Options options_;
  std::map<int, Breakpoint> breakpoints_;
  std::vector<Watch> watches_;
  std::set<std::string> call_stops_;
  std::int64_t watch_count_ = 0;
  std::set<int> stop_lines_;

  std::unique_ptr<Run> run_;  ///< null if no script runs
  int line_ = 0;
  std::size_t frame_ = 0;  ///< see select_frame()
  Halt next_halt_;         ///< what is found before the halt is made
  RunResult result_;
};

}  // namespace rlctl::debugger
