#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debugger/debugger.h"
#include "ldb/session.h"

namespace rlctl::ldb {

/// A script in Redis's own debugger, as it is, without anything added to it: what `redis-cli --ldb`
/// does, with the text that Redis prints parsed.
///
/// Values are the texts that Redis prints (lua::Value::Kind::kOpaque): strings are quoted, and
/// numbers have six digits at most. The words of a call are those that blanks separate, of which
/// Redis tells ten at most. A run without stops tells messages only.
///
/// Rejected: to parse values. Redis prints them for people; numbers and strings are not exact.
class RedisDebugger final : public debugger::Debugger {
 public:
  struct Options {
    /// Opens the session of a run.
    std::function<Session()> open_session = {};
    /// Whether a running script shall stop, as far as its server lets it.
    std::function<bool()> wants_stop = {};
    /// Whether the server is rlctl's own, so that code which never ends blocks nobody else.
    bool may_hang = false;
  };

  /// The debuggee must outlive the debugger.
  RedisDebugger(const Debuggee& debuggee, Options options)
      : Debugger(debuggee), options_(std::move(options)) {}

  debugger::Halt start() override;
  void leave() noexcept override { session_.reset(); }

  debugger::Halt step() override;
  /// Is step(): Redis's debugger steps over nothing.
  debugger::Halt next() override { return step(); }
  /// Stops after five seconds, too, or when it is wanted, as soon as the server looks at its clock.
  debugger::Halt go_on() override;
  /// A script that catches errors goes on to its end.
  debugger::Halt abort_script() override;

  std::vector<lua::Frame> backtrace() override;
  std::vector<lua::Variable> variables() override;
  /// Finds variables only: those that are visible, KEYS and ARGV, and in the functions that called
  /// this one, the first of several.
  lua::Evaluation look_up(std::string_view expression) override;
  /// Runs code, which sees only globals. Throws UsageError for code that nothing could stop.
  lua::Evaluation evaluate(std::string_view code) override;

  /// Throws Lack unless the script stands still.
  debugger::Call call(const std::vector<std::string>& words) override;
  std::vector<std::string> take_lacks() override { return std::exchange(lacks_, {}); }
  /// Throws Lack for a breakpoint with a condition, and for too many.
  void add_breakpoint(debugger::Breakpoint breakpoint) override;
  bool remove_breakpoint(int line) override;
  void clear_breakpoints() override;

  bool running() const noexcept override { return session_ && !session_->ended(); }
  bool wants_stop() const override { return options_.wants_stop(); }

 private:
  debugger::Halt arrive(const Message& message);
  void read_result();
  Message ask(const std::vector<std::string>& words,
              std::optional<std::chrono::microseconds> limit = {});
  lua::Value shown(std::string text);
  std::vector<lua::Variable> read_variables();
  void note_if_rounded(std::string_view text);

  Options options_;
  std::optional<Session> session_;
  /// For explain_error(): the last stop of the script, unless it ran on from there.
  std::optional<int> last_line_ = 0;
  std::vector<debugger::ScriptMessage>
      messages_;  ///< of code that was evaluated since the last stop
  std::vector<std::string> lacks_;
  bool has_rounded_ = false;  ///< told once
};

}  // namespace rlctl::ldb
