#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "keyspace/keyspace.h"
#include "lua/frames.h"
#include "redis/reply.h"

// One run of a script that is debugged, and what is known of it, whatever runs it.

namespace rlctl::debugger {

/// A script to debug and the keys and arguments to call it with.
struct Debuggee {
  std::string name = {};    ///< for messages: a file's name without its folder
  std::string source = {};  ///< the Lua that runs
  std::vector<std::string> keys = {}, arguments = {};
  std::string shown = {};  ///< the author's text, with the same lines; empty if it is the source

  const std::string& shown_source() const { return shown.empty() ? source : shown; }
};

/// How a run ended.
enum class Ending {
  kReturned,  ///< the script returned, possibly an error reply
  kRefused,   ///< a server did not start it
  kCompileError,
  kRunTimeError,
  kAborted,         ///< by the user
  kCutOff,          ///< rlctl gave up: the script ran for too long
  kLost,            ///< the connection to a server broke, or its process was killed
  kNotImplemented,  ///< it called what the engine does not have
};

/// A Redis command that a script called, or the user.
struct Call {
  std::vector<std::string> words = {};
  std::string reply = {};                 ///< as text: 5, "abc", NULL, [1,"a"], "+OK"
  std::optional<std::string> error = {};  ///< "WRONGTYPE Operation against ..."
};
/// The reply that a keyspace or a script in this process has written as these bytes.
redis::Reply written_reply(std::string_view bytes);
/// A call with its reply.
Call call_of(const std::vector<std::string>& words, redis::ReplyView reply);

/// A message of the script, by redis.debug() or redis.log().
struct ScriptMessage {
  std::string text = {};
  std::string level = {};  ///< for redis.log(), its level: "notice"; empty for redis.debug()
};

/// How a script ended, and what it did.
struct RunResult {
  Ending ending = Ending::kReturned;
  std::optional<redis::Reply> reply = {};   ///< none if the script did not end by itself
  std::optional<lua::Value> returned = {};  ///< of which the reply may have lost something
  std::string message = {};                 ///< the error, without its place and the code ERR
  int error_line = 0;                       ///< 0 if no line caused it
  std::int64_t lines = 0, calls = 0;        ///< how many were run
  std::map<int, std::int64_t> hits = {};    ///< by line
  std::set<std::string> other_keys = {};    ///< that it used and did not get; a thousand at most
};

/// Why a script does not compile.
struct CompileError {
  std::string message = {};
  int line = 0;  ///< 0 if it is not known
};
std::optional<CompileError> find_compile_error(const Debuggee& debuggee);

/// Runs scripts in the engine, and records what they do.
class Recorder : public lua::Observer {
 public:
  /// Runs a script to its end on these keys. Ctrl-C, which throws Interrupted, ends it, as does any
  /// exception of a function below.
  RunResult run(const Debuggee& debuggee, keyspace::Keyspace& keys, const Interrupt* interrupt);

 protected:
  /// Ends the run when it is thrown; what() becomes RunResult::message.
  struct EndOfRun : std::runtime_error {
    EndOfRun(Ending its_ending, const std::string& why)
        : std::runtime_error(why), ending(its_ending) {}
    Ending ending;
  };

  /// The script is about to run a line of its source.
  virtual void on_line(lua::Stack& stack) = 0;
  /// The same of a line behind the source, which calls a function of a library.
  virtual void on_added_line() {}

  void count(const lua::Stack& stack);

  // For others to add to, which call these.
  void at_error(lua::Stack& stack, const lua::Value& error) override;
  void after_call(const std::vector<std::string>& words, std::string_view reply) override;
  void on_debug(const std::vector<lua::Value>& values) override;
  void on_log(std::string_view level, std::string text) override;

  void at_work() override {}
  bool on_breakpoint() override { return false; }
  void on_return(const lua::Value& value) override { result_.returned = value; }

  RunResult result_;
  std::vector<Call> calls_;              ///< since they were taken
  std::vector<ScriptMessage> messages_;  ///< since they were taken
  const lua::Stack* stack_ = nullptr;    ///< null before the first line

 private:
  void at_line(lua::Stack& stack) final;
  redis::Reply run_script(const Debuggee& debuggee, keyspace::Keyspace& keys,
                          const Interrupt* interrupt);

  void note_other_keys(const std::vector<std::string>& words);

  std::set<std::string, std::less<>> own_keys_;
  int line_ = 0;       ///< that was counted last
  int last_line_ = 0;  ///< of the source
};

/// Finds the variables that are new or changed since a function was looked at last.
class Changes {
 public:
  /// Those of the innermost function. Upvalues are not new, but may have changed.
  std::vector<lua::Variable> take(const lua::Stack& stack);
  void clear() { seen_.clear(); }

 private:
  using Place = std::pair<std::string, int>;  ///< a name, and lua::Variable::place
  using Values = std::map<Place, lua::Value>;
  static void keep_shadowed(const Values& before, const Place& by, Values& now);
  void keep_active(const lua::Stack& stack);
  void change_elsewhere(const std::string& name, const lua::Value& before, const lua::Value& now);

  std::map<std::int64_t, Values> seen_;  ///< by the number of the call
  std::size_t most_seen_ = 64;           ///< before those that have ended are forgotten
};

/// What one line did, from the stop at it to the next stop.
struct TracedLine {
  std::int64_t number = 0;  ///< from 1
  int line = 0;             ///< in the source
  std::vector<Call> calls = {};
  std::vector<ScriptMessage> messages = {};
  std::vector<lua::Variable> changed = {};
};

/// Runs a script to its end, at most for `most_lines`, and tells what each line did, one line late.
/// What the last line does to variables is not known. Throws Interrupted, and what `on_line`
/// throws.
RunResult trace(const Debuggee& debuggee, keyspace::Keyspace& keys, const Interrupt* interrupt,
                std::int64_t most_lines, const std::function<void(const TracedLine&)>& on_line);

/// Runs a script to its end, at most for `most_lines`, and counts its lines.
RunResult count_lines(const Debuggee& debuggee, keyspace::Keyspace& keys,
                      const Interrupt* interrupt, std::int64_t most_lines);

}  // namespace rlctl::debugger
