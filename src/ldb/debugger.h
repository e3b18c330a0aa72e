#pragma once

#include <chrono>
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

#include "ldb/breakpoint.h"
#include "ldb/evaluation.h"
#include "ldb/locals.h"
#include "ldb/walk.h"

// The debugger that the user of rlctl debug drives: breakpoints with conditions, watches, steps
// over functions, and the values of variables and expressions. cli/commands/debug/commands.cc turns
// the commands into calls of Debugger, and repl.cc starts it. It knows no terminal: what happened
// at a stop is a Halt, which cli/commands/debug/text.cc shows.

namespace rlctl::ldb {

/// An expression; the script stops when its value changes.
struct Watch {
  std::int64_t number = 0;
  std::string expression = {};
  Evaluation last = {};  ///< its value when all of its variables were last visible
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
  int line = 0;  ///< in the source; if kEnded, the last line
  /// The last calls if there were many; `calls_before` counts the earlier ones.
  std::vector<Call> calls = {};
  std::int64_t calls_before = 0;
  std::vector<ScriptMessage> messages = {};  ///< the last messages if there were many
  std::vector<LocalValue> changed = {};      ///< visible variables that are new or changed
  /// kBreakpoint: why its condition could not be evaluated.
  std::string condition_error = {};
  struct WatchChange {
    Watch watch = {};  ///< with its current value
    Evaluation before = {};
  };
  std::string call = {};                  ///< kCall: which of the calls that were asked for
  std::string error = {};                 ///< kError: its message, without its place
  std::vector<WatchChange> watches = {};  ///< kWatch: the watches that changed
};

/// Steps through a script interactively, asking the server as little as possible.
///
/// All lines are lines of the source. Breakpoints and watches persist across runs.
class Debugger {
 public:
  struct Options {
    std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
    /// The server can be killed, so code that might not terminate may be evaluated.
    bool may_hang = false;
    /// The script halts at errors that nothing in it catches, unless set_stops_at_errors().
    bool stops_at_errors = false;
    /// Returns true if the script must stop where it is. Polled while the script runs.
    std::function<bool()> wants_stop = {};
    /// Takes the message of a breakpoint that was hit. None: messages are lost.
    std::function<void(int line, const std::string& text)> on_message = {};
    Session::Limits limits = {};
    std::chrono::microseconds evaluation{std::chrono::seconds(2)};  ///< the limit of evaluate()
  };

  /// The debuggee must outlive the debugger. Each start calls `connect`, more than once.
  Debugger(const Debuggee& debuggee, Mode mode, Connect connect, Options options);

  /// Runs from the beginning, after leaving the current run as ~Session does. Throws what `connect`
  /// throws and, like everything that moves, Interrupted.
  Halt start();
  /// Leaves the script as ~Session does.
  void leave() noexcept { walk_.reset(); }
  /// The debuggee has another source, which the next start() runs. Leaves the script.
  void forget_source();
  /// Finds the lines at which the script can stop, as start() does if this was not called. Throws
  /// what `connect` throws.
  void find_stop_lines();
  /// Removes the breakpoints at lines at which the script, since it has started, never stops, and
  /// returns their lines.
  std::vector<int> drop_lost_breakpoints();

  // Only while running().

  /// Why the script must halt at its current line, however it came there; std::nullopt if nothing
  /// asks for that. Evaluating a condition or a watch may end it, which is such a halt, too.
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
  /// Runs until the script has passed as many probes, regardless of breakpoints, watches, calls and
  /// errors: with the TraceResult::probe_count of a run that did the same, to the last line that a
  /// probe precedes. Throws UsageError if the script has no room for probes.
  Halt go_on_to_probe(std::int64_t count);
  /// Ends the script with an error at its current line. A script that catches the error runs on to
  /// its end without a stop; its result then is not kAborted.
  Halt abort_script();

  /// The known values of local variables.
  const std::vector<LocalValue>& locals() const noexcept { return locals_.all(); }
  /// The script's function that contains the current line; 0: the main function.
  std::size_t function() const noexcept { return locals_.function(); }
  /// The line that declares `name`, anywhere in the script; 0 if none does.
  int declared_at(std::string_view name) const noexcept;
  /// The field names of the expression before a '.': "t" or "t.a", a variable or a field of one.
  /// Empty if its value is not known.
  std::vector<std::string> fields_of(std::string_view path) const;
  /// Whether variables are known at all: not if the script has no room for probes.
  bool knows_locals() const noexcept { return walk_ && walk_->has_probes(); }

  /// Runs code, an expression or statements, with copies of the variables that it names. With
  /// `absent_is_nil`, locals that do not exist here, or not yet, are nil.
  Evaluation evaluate(std::string_view code, bool absent_is_nil = false);
  /// The value of an expression: a known variable or a field of one, or else evaluate().
  Evaluation print(std::string_view expression);
  /// Sets a variable of the innermost function or a field of a table, t.a[2] or KEYS[1], to the
  /// value of an expression, evaluated as by evaluate(). The values are what it now is; the outcome
  /// is not kValues if it cannot be set. Throws UsageError for what is neither a variable nor a
  /// field.
  Evaluation set(std::string_view variable, std::string_view expression);
  /// Lets locals(), function(), print() and evaluate() refer to an active function instead of the
  /// innermost, 0: by its index in backtrace(), until the script moves. Returns why its variables
  /// are not known; empty if they are. Throws UsageError if there is no such function.
  std::string select_frame(std::size_t index);
  /// Calls Redis. Throws UsageError for words that the debugger does not accept.
  Call call(const std::vector<std::string>& words);
  /// The stack frames, innermost first.
  std::vector<Frame> backtrace();

  // Usable at any time.

  /// Adds or replaces the breakpoint at a line. Throws UsageError if the script never stops at that
  /// line, naming the nearest ones at which it does, and for a condition that does not compile. A
  /// breakpoint whose condition ends the session when it is evaluated is removed.
  void add_breakpoint(Breakpoint breakpoint);
  /// Returns false if there is no breakpoint at this line.
  bool remove_breakpoint(int line);
  const std::map<int, Breakpoint>& breakpoints() const noexcept { return breakpoints_; }
  /// Throws UsageError for an expression that does not compile, or that names a variable if none
  /// are known: see knows_locals(). Returns null if evaluating it ended the session, which removes
  /// the watch.
  const Watch* add_watch(std::string expression);
  bool remove_watch(std::int64_t number);
  const std::vector<Watch>& watches() const noexcept { return watches_; }
  void clear_breakpoints() { breakpoints_.clear(); }
  void clear_watches() { watches_.clear(); }
  /// Halts the script before each call of these commands, in lower case, or through "redis.call" or
  /// "redis.pcall", under whatever name the script calls them. A script without room for probes,
  /// see knows_locals(), never halts there.
  void set_call_stops(std::set<std::string> calls);
  /// Whether the script halts at errors. Requires Options::stops_at_errors.
  void set_stops_at_errors(bool stops);
  /// The result tells TraceResult::probe_count. Requires Options::stops_at_errors.
  void set_counts_probes(bool counts) { counts_probes_ = counts; }

  /// Whether the user asked the script to stop.
  bool wants_stop() const { return options_.wants_stop && options_.wants_stop(); }
  bool running() const noexcept { return walk_ && !walk_->ended(); }
  int line() const noexcept { return walk_ ? walk_->line() : 0; }
  /// The result once the script has ended. Lines, calls and hits are not counted.
  const TraceResult& result() const noexcept { return result_; }
  /// The lines of the source at which the script can stop, in order; empty if not known.
  const std::set<int>& stop_lines() const noexcept { return stop_lines_; }

 private:
  void forget_run();

  bool moved(bool is_stopped);
  void collect_events();
  Halt halt(Halt::Why why);
  Halt halt_at_end();
  void keep_result();
  void check_watches();
  bool breaks_here();
  void remove_fatal(const Breakpoint& breakpoint, const char* expression);
  void log(const Breakpoint& breakpoint, const std::string& text) const;
  std::vector<std::size_t> functions_entered();
  bool is_back_in(const std::vector<std::size_t>& functions);
  Halt step_back_to(const std::vector<std::size_t>& functions);
  bool can_run_freely() const;
  std::optional<Call> reply_to_time(const std::vector<std::string>& words) const;
  void send_breakpoints(bool are_set);
  void count_hits();
  bool prepare_to_run();
  void send_halts(bool are_set);
  void require_running() const;
  void require_stop_line(int line) const;
  void require_compiles(const std::string& expression, bool is_one = false);

  Evaluation run(std::string_view prelude, std::string_view code, std::string_view expression);
  Evaluation run_setter(std::string_view function, std::string_view what,
                        const std::string& expression, std::string_view keys);
  Evaluation set_local(const VariablePath& path, const std::string& expression);
  Evaluation set_global(const VariablePath& path, const std::string& expression);
  std::optional<std::string> keys_of(const VariablePath& path) const;
  void read_again(const Probe& probe);
  std::string why_not_seen(std::string_view code) const;
  Evaluation evaluate_watch(const std::string& expression);
  bool names_hidden_local(const std::string& expression);
  void remove_fatal(const Watch& watch);
  void add_cause(const std::string& what);

  const Debuggee& debuggee_;
  Mode mode_;
  Connect connect_;
  Options options_;
  bool stops_by_itself_ = true;  ///< the server stops a script that runs long
  std::unique_ptr<Walk> walk_;
  std::map<int, Breakpoint> breakpoints_;
  std::vector<Watch> watches_;
  std::set<std::string> call_stops_;
  bool stops_at_errors_ = true;
  bool counts_probes_ = false;
  std::int64_t watch_count_ = 0;
  std::set<int> stop_lines_;                            ///< empty: not known
  std::map<std::string, bool, std::less<>> is_global_;  ///< whether a local's name is a global, too
  std::map<int, int> text_lines_;   ///< lines of the text that was sent, by line of the source
  std::set<int> sent_breakpoints_;  ///< those set in the server, by line of the text

  VisibleLocals locals_;
  std::size_t frame_ = 0;         ///< see select_frame()
  bool is_same_reading_ = false;  ///< readings are repeated: see Walk::read_again()
  Halt next_halt_;                ///< what the script did since the last stop
  bool has_result_ = false;
  TraceResult result_;
};

}  // namespace rlctl::ldb
