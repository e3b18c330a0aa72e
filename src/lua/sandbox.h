#pragma once

// Lua 5.1 for sources that nobody has read: scripts of strangers, and expressions over replies.
//
// A Sandbox has the globals that Redis 7 gives a script, without `redis`: the basic functions,
// string, table, math, coroutine, os.clock, cjson, bit and struct. No source can leave it:
//
//   - There is no io, package, require, dofile, loadfile, print, debug, getfenv, setfenv or
//     newproxy. cmsgpack, which Debian does not package for Lua 5.1, ends the run.
//   - load() and loadstring() refuse bytecode, since Lua 5.1 does not verify it.
//   - The globals and libraries cannot be changed. Redis patches Lua for that; here, a source sees
//     an empty table whose metatable leads to the real one, and the functions that look past
//     metatables (rawset, next, table.insert and so on) know such a table.
//   - Arguments with which functions of Lua 5.1 or bit go beyond their memory are refused: a range
//     of unpack() that overflows (CVE-2025-46817), bit.tohex(x, -2^31) (CVE-2024-31449), and a
//     pattern so long that matching it overflows the stack.
//   - Memory and instructions are bounded, and Ctrl-C ends a source that runs; pcall() cannot catch
//     that. A function in C counts as one instruction, however long it runs, and Ctrl-C waits for
//     it. So commands run scripts in a worker (base/worker.h), whose parent bounds the rest.
//
// Lua is linked as it is compiled by a C++ compiler, so that its errors are exceptions, and unwind
// frames with destructors. `catch (...)` around a call of Lua's API would catch them, too.
//
// Source of the rules: Redis 7.0, src/script_lua.c; what newer versions removed from its globals
// is not there.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/wait.h"

struct lua_Debug;
struct lua_State;

namespace rlctl::lua {

/// What a source may use.
struct Bounds {
  /// Bytes, with garbage that is not yet collected; beyond, NotImplementedHere ends the run.
  std::size_t memory = std::size_t{64} << 20;
  std::int64_t instructions = 1'000'000'000;  ///< of each Sandbox::run(), to the next 10,000
  const Interrupt* interrupt = nullptr;       ///< must outlive the Sandbox
};

/// A source ran for more than Bounds::instructions, or for too long in a worker. what() is a
/// predicate: "ran for more than …".
class RanTooLong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A source asks for what only a server has. what() is a sentence: "SORT is not implemented here".
class NotImplementedHere : public std::runtime_error {
 public:
  /// Where a server would do it.
  static constexpr const char* kOnServer =
      "a server has it: burst and adversary run scripts there with -u private:, debug with --ldb";

  explicit NotImplementedHere(const std::string& what, const char* hint = kOnServer)
      : std::runtime_error(what), hint_(hint) {}
  /// What the user can do.
  const char* hint() const noexcept { return hint_; }

 private:
  const char* hint_;
};

/// A script is nested so deeply that Lua has no place for what a hook does there. A hook that
/// throws it does not end the run: the script gets the error that it would soon get, "stack
/// overflow".
class TooDeep : public UsageError {
 public:
  TooDeep() : UsageError("stack overflow") {}
};

class Sandbox {
 public:
  /// Throws std::bad_alloc.
  explicit Sandbox(const Bounds& bounds = {});
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  /// Calls `body(state)`, which may call Lua's API, with an empty stack; what it leaves there is
  /// dropped. Returns false, and sets `error`, if it raised an error of Lua. Throws RanTooLong,
  /// Interrupted, what stop() was given, and what derives from std::exception and `body` throws.
  template <typename Body>
  bool run(Body body, std::string& error) {
    return run_body([](lua_State* state, void* its) { (*static_cast<Body*>(its))(state); }, &body,
                    error);
  }

  /// Adds a global, the value on the top of the stack, which is popped. A table cannot be changed
  /// by a source any more; a value in its place, or none, does not do.
  static void add_global(lua_State* state, const char* name);
  /// Sets a global that a source may change, if it is a table: KEYS.
  static void set_global(lua_State* state, const char* name);
  /// Makes the table on the top of the stack, which is popped, all globals that a source sees; nil:
  /// those of the sandbox again.
  static void show_globals(lua_State* state);
  /// Compiles a source, whose name is Lua's name of a chunk, and leaves a function, or a message,
  /// on the stack. Returns whether it is a function.
  static bool compile(lua_State* state, std::string_view source, const char* name);
  /// Ends the run() in whose body this is called; run() throws the exception.
  [[noreturn]] static void stop(lua_State* state, std::exception_ptr exception);
  /// Called by Lua at calls, at lines, and now and then: see lua_sethook(). What it throws ends the
  /// run.
  using Hook = std::function<void(lua_State*, lua_Debug*)>;
  /// Sets what the next run() calls.
  void set_hook(Hook hook);
  /// Whether stop() is ending the run.
  static bool is_stopping(lua_State* state);
  /// While a run stands still, in a hook or in a function that it calls: calls the function on the
  /// top of the stack of another thread of Lua, which may run for that many `instructions`. Returns
  /// why it was ended; else null, with the results or the error on that stack, and lua_pcall()'s
  /// status.
  static std::exception_ptr call_aside(lua_State* thread, std::int64_t instructions, int& status);
  /// Pushes the table behind one that cannot be changed; pushes nothing and returns false for other
  /// values.
  static bool push_real_table(lua_State* state, int index);
  /// Tells the parent of a worker the line that runs. For a signal handler of a worker that is
  /// about to be killed, since it reads what the interrupted code may be changing.
  static void note_line() noexcept;
  /// The line of the source that runs, from 1; 0 if none does.
  static int line(lua_State* state);
  /// The line at which the last run() was ended by stop(); 0 if it is not known.
  int stopped_line() const;

 private:
  friend struct Guards;
  struct Box;
  bool run_body(void (*body)(lua_State*, void*), void* context, std::string& error);
  struct Close {
    void operator()(lua_State* state) const noexcept;
  };

  std::unique_ptr<Box> box_;
  std::unique_ptr<lua_State, Close> state_;
};

}  // namespace rlctl::lua
