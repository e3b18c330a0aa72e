#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/session.h"

namespace rlctl::ldb {

/// What Redis's debugger prints about a script that runs, one piece after the other. All texts are
/// as Redis prints them: strings are quoted, and a number has six digits at most.
struct Printed {
  enum class Kind {
    kCall,     ///< a call of Redis: its words, separated by blanks, of which ten are told at most
    kError,    ///< what a call or redis.error_reply() reported, without the code ERR
    kMessage,  ///< what redis.debug() got
    kValue,    ///< the result of code
    kOther,
  } kind = Kind::kOther;
  std::string text = {};
  std::string reply = {};  ///< of a call; empty if it is not told
};

/// A variable as Redis's debugger prints it.
struct Variable {
  std::string name = {}, value = {};
};

/// An active function.
struct StackEntry {
  std::string name = {};  ///< "top level" if it is not known
  int line = 0;
};

/// Whether code may not terminate or may run long: it contains a loop or a function, loads code
/// from a string, or repeats a string.
bool may_be_endless(std::string_view code);

/// A script in Redis's own debugger, as it is, without anything added to it: what `redis-cli --ldb`
/// does, with the text that Redis prints parsed into pieces.
///
/// Rejected: to parse values. Redis prints them for people; numbers and strings are not exact.
class RedisDebugger {
 public:
  using Pieces = std::vector<Printed>;

  /// `wants_stop` tells whether a running script shall stop, as far as its server lets it.
  explicit RedisDebugger(std::function<bool()> wants_stop) : wants_stop_(std::move(wants_stop)) {}

  // What moves the script. Each tells what the script did until it stopped or ended.

  /// Starts a script, in place of one that has not ended, and waits for its first line. Breakpoints
  /// of an earlier script are set again at the lines that this one has.
  Pieces start(Session session, const Debuggee& debuggee);
  /// Runs to the next line, including those of functions that this line calls.
  Pieces step();
  /// Runs to a breakpoint, redis.breakpoint() or the end. Otherwise stops after five seconds, or
  /// when it is wanted, as soon as the server looks at its clock. Tells only messages.
  Pieces resume();
  /// Ends the script with an error; Session::abort_script().
  void abort_script();

  // What does not. All require a script that has not ended.

  /// The variables of the function that is active, in the order of their declaration. Of several
  /// with one name, only the last is visible, and only it is told.
  std::vector<Variable> variables();
  /// What Redis finds by a name elsewhere: in the functions that called this one, of several
  /// variables in one of them the first, and then KEYS and ARGV. std::nullopt if it finds nothing.
  std::optional<std::string> find_elsewhere(std::string_view name);
  /// Runs code, which sees only globals.
  Pieces evaluate(std::string_view code);
  /// Calls Redis.
  Pieces call(const std::vector<std::string>& words);
  /// The active functions, the innermost first.
  std::vector<StackEntry> functions();

  /// Redis keeps this many breakpoints.
  static constexpr std::size_t kMaxBreakpoints = 64;
  const std::set<int>& breakpoints() const noexcept { return breakpoints_; }
  /// Sets a breakpoint; there must be less than kMaxBreakpoints.
  void add_breakpoint(int line);
  void remove_breakpoint(int line);
  void clear_breakpoints();

  bool running() const noexcept { return session_ && !session_->ended(); }
  /// Where the script stopped.
  const Stop& stop() const noexcept { return stop_; }
  /// The session of the last script; it must have been started.
  const Session& session() const { return session_.value(); }
  /// For explain_error(): the last stop of the script, unless it ran on from there.
  std::optional<int> last_line() const noexcept { return last_line_; }

 private:
  void arrive_at(const Stop& stop);
  Pieces arrive(const Message& message);
  void ask_if_running(const std::vector<std::string>& words);

  std::function<bool()> wants_stop_;
  std::optional<Session> session_;
  std::set<int> breakpoints_;
  Stop stop_;
  std::optional<int> last_line_ = 0;
};

}  // namespace rlctl::ldb
