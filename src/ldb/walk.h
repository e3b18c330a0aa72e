#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/lua_lexer.h"
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
  /// As the debugger writes it: 5, "abc", NULL, [1,"a"], "+OK". None if it was refused before it
  /// was executed.
  std::optional<std::string> reply = {};
  std::optional<std::string> error = {};  ///< "WRONGTYPE Operation against ..."
  /// Its outcome is not known: the script ran freely, as it never does in a trace.
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
  int error_line = 0;  ///< of the source; 0 if none is to blame
  std::int64_t lines = 0, calls = 0;
  std::map<int, std::int64_t> hits = {};  ///< how often each line of the source was stopped at
  /// No variable was told as the debugger prints it, where there were no probes: numbers to six
  /// digits, and only those of the innermost function.
  bool exact = true;
};

struct TraceOptions {
  std::int64_t max_steps = 100'000;  ///< lines of the source
  /// A script that has executed that many runs on to its end without stops (kSync; a forked one
  /// never does); else it is ended by an error, with what it has written until then.
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

/// A call of our own, as the debugger would have told of it.
[[nodiscard]] Call call_of(const std::vector<std::string>& words, redis::ReplyView reply);

/// Puts together what is told of Redis calls between two stops: the shim's exact words, which come
/// first, and the debugger's <redis>, <reply> and <error>.
class CallLog {
 public:
  /// `tells_errors`: the server has an <error> for each reply that is one, as from Redis 7.0 on;
  /// else it is known by its looks, as strings are that begin with "-ERR ".
  explicit CallLog(bool tells_errors = true) : tells_errors_(tells_errors) {}

  /// An empty one of the same server's.
  [[nodiscard]] CallLog like() const { return CallLog(tells_errors_); }

  /// What the shim told; `answer` where the server will not be asked.
  void add_words(CallWords words, const std::optional<std::vector<std::string>>& answer);
  /// An item of the debugger's; what is of no call is left out.
  void add_item(std::string_view item);
  /// The debugger has said all that it will of what was called until now: what was told by its
  /// words alone was refused.
  void close();
  /// While it is silent the debugger tells nothing of its own, so that words are all there is.
  void set_silent(bool silent);
  /// The calls since it was last asked, in their order. Closes.
  [[nodiscard]] std::vector<Call> take();

 private:
  void begin(Call call);
  void add_reply(std::string_view reply);
  void add_error(std::string_view error);
  void refuse_pending();

  bool tells_errors_;
  bool is_silent_ = false;
  std::vector<Call> calls_;
  std::optional<CallWords> pending_;  ///< told, and nothing of it came yet
  bool is_open_ = false;              ///< the last call may still get a reply or an error
  bool has_error_item_ = false;       ///< the last call has
};

/// A function that has been entered and not left.
struct Frame {
  std::string name = {};  ///< the server's word for it: "top level"
  int line = 0;           ///< of the source; where it stands. 0: in text that is not the source's
};

struct WalkOptions {
  std::optional<std::chrono::microseconds> now = {};  ///< see ProbeOptions
  Session::Limits limits = {};
};

/// A script on its way from one line of its source to the next: a session whose stops at probes are
/// passed over, and whose messages are taken apart. What trace() and Debugger are made of.
class Walk {
 public:
  /// What a probe told. All that came before the stop at which the walk is.
  using OnReading = std::function<void(const ProbedScript&, const ProbeReading&)>;

  Walk(const Debuggee& debuggee, ProbedScript script, Session session, OnReading on_reading);
  /// One that never began.
  Walk(const Debuggee& debuggee, std::string refusal);

  // All that moves returns true if the script stands at a line of its source, false if it has
  // ended. Throw redis::Error, as Session does.

  bool start();
  bool step();
  /// To a breakpoint of the server's, or redis.breakpoint(). What runs long is asked to stop by the
  /// server itself now and then: it is let go on until `is_enough`.
  bool run(const std::function<bool()>& is_enough);

  /// Where it stands; 0 before the first line. Where it has ended, the last one.
  [[nodiscard]] int line() const noexcept { return line_; }
  /// Why it stands there.
  [[nodiscard]] Stop::Reason reason() const noexcept { return reason_; }
  /// What the script did since it was last asked.
  [[nodiscard]] std::vector<Call> take_calls();
  [[nodiscard]] std::vector<std::string> take_messages();
  /// Calls Redis by the debugger's command. Throws UsageError, as Session::ask() does.
  [[nodiscard]] Call call(const std::vector<std::string>& words);

  /// The functions that have been entered, the innermost first.
  [[nodiscard]] std::vector<Frame> frames();
  [[nodiscard]] bool ended() const noexcept { return !session_ || session_->ended(); }
  [[nodiscard]] bool has_probes() const noexcept { return !script_.probes.empty(); }
  [[nodiscard]] const ProbedScript& script() const noexcept { return script_; }
  /// Only of one that began.
  [[nodiscard]] Session& session() { return *session_; }

  /// Once it has ended: what it came to. It has no lines, calls and hits.
  [[nodiscard]] TraceResult result();

 private:
  bool prepare();
  bool settle(Message message);
  [[nodiscard]] bool may_repeat(int line) const;
  void read(const Message& message);
  void read_debug(std::string_view item);

  const Debuggee& debuggee_;
  ProbedScript script_;
  std::optional<Session> session_;
  std::string refusal_;
  OnReading on_reading_;
  ProbeReader reader_{script_};
  CallLog calls_;
  std::vector<std::string> messages_;
  std::vector<std::string_view> source_ = source_lines(debuggee_.source);
  int line_ = 0;
  int text_line_ = 0;  ///< of the last stop
  Stop::Reason reason_ = Stop::Reason::kStep;
};

/// Starts a script with probes, or wrapped, or as it is (where it has too many locals for them, or
/// is too long for a forked session). The walk stands at the first line, or has ended. The debuggee
/// must outlive it. Throws what `connect` throws, and what Session::start() does.
[[nodiscard]] std::unique_ptr<Walk> begin_walk(const Debuggee& debuggee, Mode mode,
                                               const Connect& connect, const WalkOptions& options,
                                               const Walk::OnReading& on_reading);

}  // namespace rlctl::ldb
