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
#include <utility>
#include <vector>

#include "ldb/locals.h"
#include "ldb/walk.h"

namespace rlctl::ldb {

struct Breakpoint {
  int line = 0;                ///< of the source
  std::string condition = {};  ///< an expression; empty: always
  bool operator==(const Breakpoint&) const = default;
};

/// An expression at whose changes the script stops.
struct Watch {
  std::int64_t number = 0;
  std::string expression = {};
  Evaluation last = {};  ///< what it was when all of its variables were in sight last
};

/// Where a script came to stand, why, and what it did since it stood before.
struct Halt {
  enum class Why {
    kStarted,
    kStepped,
    kBreakpoint,
    kCalledFor,  ///< by redis.breakpoint()
    kWatch,
    kStopped,  ///< by the user
    kEnded,    ///< see Debugger::result()
  } why = Why::kStepped;
  int line = 0;  ///< of the source; of kEnded the last one
  /// The last ones, where there were many; `calls_before` were before them.
  std::vector<Call> calls = {};
  std::int64_t calls_before = 0;
  std::vector<std::string> messages = {};  ///< of redis.debug(); the last ones
  std::vector<LocalChange> changed = {};   ///< of what can be seen now
  /// kBreakpoint: its condition could not be evaluated.
  std::string condition_error = {};
  struct WatchChange {
    Watch watch = {};  ///< as it is now
    Evaluation before = {};
  };
  std::vector<WatchChange> watches = {};  ///< kWatch: those that changed
};

/// Steps through a script by hand. What is not moving asks no more of the server than it must.
///
/// All lines are the source's. Breakpoints and watches stay from one run to the next.
class Debugger {
 public:
  struct Options {
    std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
    /// The server can be killed: code may be evaluated that might not end by itself.
    bool may_hang = false;
    /// The script is to stop where it is. Asked often while it runs.
    std::function<bool()> wants_stop = {};
    Session::Limits limits = {};
    std::chrono::microseconds evaluation{std::chrono::seconds(2)};  ///< the longest one
  };

  /// The debuggee must outlive it; `connect` is called at each start, more than once.
  Debugger(const Debuggee& debuggee, Mode mode, Connect connect, Options options);

  /// From the beginning; what ran before is left as ~Session leaves it. Throws what `connect` does
  /// and, as all that moves, Interrupted.
  [[nodiscard]] Halt start();
  /// Leaves the script, as ~Session does.
  void leave() noexcept { walk_.reset(); }

  // Only where it is running().

  /// To the next line.
  [[nodiscard]] Halt step();
  /// To the next line of this function, or of one that called it, not of a coroutine that these
  /// resume; a breakpoint, a change of what is watched and the user stop it in between.
  [[nodiscard]] Halt next();
  /// To a breakpoint, a change of what is watched, or the end.
  [[nodiscard]] Halt go_on();
  /// Ends it by an error at its line. A script that catches that goes on to its end without a stop:
  /// then the result is another one than kAborted.
  [[nodiscard]] Halt abort_script();

  /// What is known of variables.
  [[nodiscard]] const std::vector<VisibleLocal>& locals() const noexcept { return locals_.all(); }
  /// Of the whole script; 0 if no variable of that name is declared anywhere.
  [[nodiscard]] int declared_at(std::string_view name) const noexcept;
  /// The names of fields of what stands before a '.': of "t" or "t.a", variables and what is in
  /// them. None of what cannot be seen.
  [[nodiscard]] std::vector<std::string> fields_of(std::string_view path) const;
  /// Values are as the debugger of the server prints them, and there are no upvalues.
  [[nodiscard]] bool is_approximate() const noexcept { return walk_ && !walk_->has_probes(); }

  /// Runs code, an expression or statements, which sees copies of the variables that it names.
  [[nodiscard]] Evaluation evaluate(std::string_view code);
  /// The value of an expression: a variable, or what is in it, at once, and all else by evaluate().
  [[nodiscard]] Evaluation print(std::string_view expression);
  /// Calls Redis. Throws UsageError for words that the debugger does not take.
  [[nodiscard]] Call call(const std::vector<std::string>& words);
  /// The innermost first.
  [[nodiscard]] std::vector<Frame> backtrace();

  // At any time.

  /// Replaces one at the same line. Throws UsageError if the script never stops at that
  /// line, with the nearest ones at which it does, and for a condition that does not compile. One
  /// that ends the session is removed.
  void add_breakpoint(Breakpoint breakpoint);
  /// False if there is none.
  bool remove_breakpoint(int line);
  [[nodiscard]] const std::map<int, Breakpoint>& breakpoints() const noexcept {
    return breakpoints_;
  }
  /// Throws UsageError for an expression that does not compile. Null if it ended the
  /// session, as that removes it.
  const Watch* add_watch(std::string expression);
  bool remove_watch(std::int64_t number);
  [[nodiscard]] const std::vector<Watch>& watches() const noexcept { return watches_; }
  void clear_breakpoints() { breakpoints_.clear(); }
  void clear_watches() { watches_.clear(); }

  /// Whether the user wants it to stop.
  [[nodiscard]] bool wants_stop() const { return options_.wants_stop && options_.wants_stop(); }
  [[nodiscard]] bool running() const noexcept { return walk_ && !walk_->ended(); }
  [[nodiscard]] int line() const noexcept { return walk_ ? walk_->line() : 0; }
  /// Once it has ended: what it came to. Lines, calls and hits are not counted.
  [[nodiscard]] const TraceResult& result() const noexcept { return result_; }
  /// The lines of the source at which it can stop, in order; none if that is not known.
  [[nodiscard]] std::set<int> stop_lines() const { return stop_lines_.value_or(std::set<int>()); }

 private:
  void find_stop_lines();
  void forget_run();

  [[nodiscard]] bool moved(bool stands);
  void gather();
  [[nodiscard]] Halt halt(Halt::Why why);
  [[nodiscard]] Halt finished();
  void note_end();
  [[nodiscard]] std::optional<Halt> reason_to_halt();
  void look_at_watches();
  [[nodiscard]] bool breaks_here();
  /// The functions that were entered, the outermost first.
  [[nodiscard]] std::vector<std::size_t> functions_entered();
  [[nodiscard]] bool is_back_in(const std::vector<std::size_t>& functions);
  [[nodiscard]] bool can_run_freely() const;
  [[nodiscard]] std::optional<Call> time_told(const std::vector<std::string>& words) const;
  void send_breakpoints();
  void require_running() const;
  void require_stop_line(int line) const;
  void require_compiles(const std::string& expression);

  [[nodiscard]] std::string why_not_seen(std::string_view code) const;
  [[nodiscard]] Evaluation run_code(std::string_view code, bool with_absent);
  [[nodiscard]] Evaluation evaluate_watch(const std::string& expression);
  [[nodiscard]] bool is_out_of_sight(const std::string& expression);
  void drop(const Watch& watch);
  void blame(const std::string& what);

  const Debuggee& debuggee_;
  Mode mode_;
  Connect connect_;
  Options options_;
  bool stops_by_itself_ = true;  ///< the server, where a script runs long
  std::unique_ptr<Walk> walk_;
  std::map<int, Breakpoint> breakpoints_;
  std::vector<Watch> watches_;
  std::int64_t watch_count_ = 0;
  std::optional<std::set<int>> stop_lines_;             ///< none: not known
  std::map<std::string, bool, std::less<>> is_global_;  ///< of names that are locals' too
  std::map<int, int> text_lines_;                       ///< by the source's
  std::set<int> sent_;  ///< breakpoints that the server has; of the text

  VisibleLocals locals_;
  Halt since_;  ///< what was done since it last stood
  bool has_result_ = false;
  TraceResult result_;
};

}  // namespace rlctl::ldb
