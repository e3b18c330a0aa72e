#pragma once

// A script that stands still before one of its lines: which functions are active, the values of
// their variables, and code that runs as if it stood in one of them. Runner tells an Observer when
// that is so.
//
// Code is compiled with an environment in which the names of the function's variables lead to the
// variables themselves, so that it can set them. It runs in a thread of Lua of its own, because Lua
// bounds nothing within a hook; it has bounds of its own, and no line of it is observed.
//
// Rejected: copies of variables that are written back, since a function that the code calls would
// see the old ones.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lua/value.h"

struct lua_Debug;
struct lua_State;

namespace rlctl::lua {

/// A variable of an active function.
struct Variable {
  std::string name = {};
  Value value = {};
  int place = 1;  ///< among the locals of its function, from 1; 0: a local of a function around it

  bool is_upvalue() const noexcept { return place == 0; }
};

/// An active function of the script.
struct Frame {
  std::string name = {};  ///< as its caller names it; "top level" for the main function
  int line = 0;
  std::int64_t call = 0;  ///< the number of its call, which no other call of the run has
};

/// The result of code.
struct Evaluation {
  enum class Outcome {
    kValues,
    kCompileError,
    kError,  ///< the code raised an error, or was ended
  } outcome = Outcome::kValues;
  std::vector<Value> values = {};  ///< of the expression, or of `return`
  std::string message = {};        ///< the error, without the place in the code

  bool operator==(const Evaluation&) const = default;
};

/// The active functions of a script, across coroutines: below those of a coroutine are those that
/// resumed it.
class Stack {
 public:
  /// `chunk` is Lua's name of the script's source.
  explicit Stack(std::string chunk);
  ~Stack();
  Stack(Stack&&) noexcept;
  Stack& operator=(Stack&&) noexcept;

  /// The current line, from 1; 0 before the first.
  int line() const noexcept { return line_; }
  /// The number of the innermost function's call: see Frame. It costs next to nothing.
  std::int64_t call() const noexcept;
  /// The active functions, the innermost first.
  std::vector<Frame> frames() const;

  // All of these throw UsageError for the index of a frame that does not exist, and std::bad_alloc
  // if the script's memory is used up.

  /// The variables that are visible in a function, by its index in frames(): its locals in the
  /// order of declaration, then its upvalues. Of several with one name, only the visible one.
  std::vector<Variable> variables(std::size_t frame) const;
  /// Runs code, an expression or statements, in a function. Commands that it calls are run. Throws
  /// Interrupted.
  Evaluation evaluate(std::size_t frame, std::string_view code);
  /// Whether code is running by evaluate().
  bool is_evaluating() const noexcept { return is_evaluating_; }

  // For Runner:

  /// Takes an event of Lua's hook. Returns whether it is a line of the script.
  bool arrive(lua_State* state, lua_Debug* event);
  /// This thread of Lua runs.
  void enter(lua_State* state);
  /// A run begins.
  void clear();

 private:
  struct Thread;
  struct Found;
  Found find(std::size_t frame) const;
  template <typename Body>
  void call_body(Body body) const;

  std::string chunk_;
  std::vector<Thread> threads_;  ///< each has resumed the next
  std::int64_t call_count_ = 0;
  lua_State* called_ = nullptr;  ///< the thread whose last event was a call
  int line_ = 0;
  bool is_evaluating_ = false;
};

/// Reads the value on the top of the stack, which is popped. A table has at most 1000 fields.
Value take_value(lua_State* state);
/// Why code is not an expression; empty if it is one.
std::string why_not_expression(std::string_view code);

/// Sees a script while it runs, on its stack. What these functions throw ends the run.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The script is about to run a line, or to run it again from its beginning.
  virtual void at_line(Stack& stack) = 0;
  /// The script has raised an error that nothing in it catches, at Stack::line().
  virtual void at_error(Stack& stack, const Value& error) = 0;
  /// The script has called a command, with this reply, in RESP2.
  virtual void after_call(const std::vector<std::string>& words, std::string_view reply) = 0;
  /// Now and then while the script or evaluated code runs.
  virtual void at_work() = 0;
  /// The script called redis.breakpoint(). Returns whether that stops it, which is its result.
  virtual bool on_breakpoint() = 0;
  /// The script called redis.debug().
  virtual void on_debug(const std::vector<Value>& values) = 0;
  /// The script called redis.log() with a level, such as "notice".
  virtual void on_log(std::string_view level, std::string text) = 0;
  /// The script has returned.
  virtual void on_return(const Value& value) = 0;
};

}  // namespace rlctl::lua
