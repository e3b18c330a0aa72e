#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ldb/probes.h"
#include "ldb/session.h"
#include "ldb/value.h"
#include "redis/connection.h"
#include "redis/reply.h"

namespace rlctl::ldb {

/// A Redis command that a script called.
struct Call {
  /// Its words. Of a script without probes the debugger tells no more than the first ten in one
  /// text, in which blanks may be a word's own: then that is the one word, and `raw`.
  std::vector<std::string> words = {};
  bool raw = false;
  /// As the debugger writes it: 5, "abc", NULL, [1,"a"], "+OK". None where it was refused before it
  /// was executed.
  std::optional<std::string> reply = {};
  std::optional<std::string> error = {};  ///< "WRONGTYPE Operation against ..."
  /// What came of it was not told: the script ran freely, as it never does in a trace.
  bool is_silent = false;
};

/// A local variable that has come, or has another value than before.
struct LocalChange {
  Local local = {};
  Value value = {};
};

/// What one line did, from where it was stopped at to the next stop.
struct TracedLine {
  std::int64_t number = 0;  ///< from 1 on
  int line = 0;             ///< of the source
  std::vector<Call> calls = {};
  std::vector<std::string> messages = {};  ///< what the script said by redis.debug()
  std::vector<LocalChange> changed = {};
};

struct TraceResult {
  Ending ending = Ending::kReturned;
  std::optional<redis::Reply> reply = {};
  /// As of ProbedScript: for with_source_lines(), where the reply holds an error's place.
  std::vector<int> text_lines = {};
  /// Of kCompileError, kRunTimeError and kAborted: what a client is told, without SHA1 and place,
  /// and with the source's lines in it; of kRefused, kLost and kCutOff what happened. One line.
  std::string message = {};
  int error_line = 0;  ///< of the source; 0 where none is to blame
  std::int64_t lines = 0, calls = 0;
  std::map<int, std::int64_t> hits = {};  ///< how often each line of the source was stopped at
  /// No variable was told as the debugger prints it, where there were no probes: numbers to six
  /// digits, and only those of the innermost function.
  bool exact = true;
};

struct TraceOptions {
  std::int64_t max_steps = 100'000;  ///< lines of the source
  /// A script that has executed so many runs on to its end without stops (kSync; a forked one never
  /// does); else it is ended by an error, with what it has written until then.
  bool lets_go = false;
  std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
};

/// Connects anew; called once for each attempt.
using Connect = std::function<redis::Connection()>;

/// Runs a script line by line to its end, and tells what each line did, one line late. Tries it
/// with probes, then wrapped, then as it is (where it has too many locals for them, or is too long
/// for a forked session). What the last line does to variables is not known.
/// Throws redis::Error: what `connect` throws, and what Session::start() does.
[[nodiscard]] TraceResult trace(const Debuggee& debuggee, Mode mode, const Connect& connect,
                                const TraceOptions& options,
                                const std::function<void(const TracedLine&)>& on_line);

}  // namespace rlctl::ldb
