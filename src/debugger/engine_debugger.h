#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debugger/debugger.h"
#include "keyspace/keyspace.h"

// The debugger of a script that runs in the engine (lua/runner.h), in a thread of its own, and
// stands still in a hook of Lua while its user looks at it. The two threads take turns: one of them
// always waits, so nothing else is shared or locked. Breakpoints, watches and steps are decided in
// the hook; the threads take turns only where the script halts.
//
// Rejected: a loop of the user's commands within the hook, which would turn each face of the
// debugger inside out; and a coroutine of Lua, which cannot yield from within a call of C.

namespace rlctl::debugger {

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

/// Steps through a script in this process. Watches persist across runs, as breakpoints do.
class EngineDebugger final : public Debugger {
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
  EngineDebugger(const Debuggee& debuggee, keyspace::Keyspace& keys, Options options);
  ~EngineDebugger() override;

  Halt start() override;
  void leave() noexcept override;

  // Only while running().

  /// Why the script must halt at its current line, however it came there; std::nullopt if nothing
  /// asks for that.
  std::optional<Halt> reason_to_halt();
  Halt step() override;
  /// Runs to the next line of this function or of a caller, not of a coroutine that they resume;
  /// stops earlier at a breakpoint, a watch change or a user's stop.
  Halt next() override;
  /// Runs until this function has returned, to the next line of a caller; from the main function,
  /// to the end. Stops earlier as next() does.
  Halt finish();
  Halt go_on() override;
  /// Ends the script, whatever it catches.
  Halt abort_script() override;

  std::vector<lua::Frame> backtrace() override;
  /// Lets variables(), evaluate() and set() refer to another function than the innermost, 0: by its
  /// index in backtrace(), until the script moves. Throws UsageError if there is none.
  void select_frame(std::size_t index);
  std::vector<lua::Variable> variables() override;
  /// The value of a variable or a field of one, without calling anything: fields are those that
  /// rawget() returns. Throws UsageError for what is neither.
  lua::Evaluation raw_value_of(std::string_view path);
  /// The names of the fields of a variable or field: "t" or "t.a". Empty if it is not a table.
  std::vector<std::string> fields_of(std::string_view path);
  /// Takes several expressions, too. Throws UsageError for what is none.
  lua::Evaluation look_up(std::string_view expressions) override;
  /// Runs code in the selected function.
  lua::Evaluation evaluate(std::string_view code) override;
  /// What the code that was evaluated last has passed to redis.debug() and redis.log().
  const std::vector<ScriptMessage>& told() const noexcept { return told_; }
  /// Sets a variable or a field of a table, t.a[2] or KEYS[1], to the value of an expression. The
  /// values are what it now is. Throws UsageError for what is neither a variable nor a field.
  lua::Evaluation set(std::string_view variable, std::string_view expression);

  // Usable at any time.

  Call call(const std::vector<std::string>& words) override;
  /// Throws UsageError for a condition or message that does not compile, too.
  void add_breakpoint(Breakpoint breakpoint) override;
  /// Throws UsageError for an expression that does not compile.
  const Watch& add_watch(std::string expression);
  bool remove_watch(std::int64_t number);
  const std::vector<Watch>& watches() const noexcept { return watches_; }
  void clear_watches() { watches_.clear(); }
  /// Whether the script halts at errors.
  void set_stops_at_errors(bool stops) { options_.stops_at_errors = stops; }

  bool running() const noexcept override { return run_ != nullptr; }
  bool wants_stop() const override { return options_.wants_stop && options_.wants_stop(); }

 private:
  class Run;
  friend class Run;

  /// Where to halt, if nothing else asks for it.
  struct Goal {
    enum class Kind {
      kStart,  ///< at the first line
      kLine,   ///< at the next line
      kCalls,  ///< at a line of one of these calls
      kNothing,
      kAbort,  ///< end the run
    } kind = Kind::kStart;
    std::vector<std::int64_t> calls = {};
  };

  Run& current() const;
  lua::Evaluation value_of(std::string_view code);
  lua::Evaluation evaluate_watch(const std::string& expression);
  void check_watches();
  bool breaks_here();
  void log(const Breakpoint& breakpoint, const std::string& text) const;
  Halt move(Goal goal);
  Halt halt(Halt::Why why);
  Halt step_back_to(std::size_t first_frame);

  keyspace::Keyspace& keys_;
  Options options_;
  std::vector<Watch> watches_;
  std::int64_t watch_count_ = 0;

  std::unique_ptr<Run> run_;  ///< null if no script runs
  std::size_t frame_ = 0;     ///< see select_frame()
  std::vector<ScriptMessage> told_;
  Halt next_halt_;  ///< what is found before the halt is made
};

}  // namespace rlctl::debugger
