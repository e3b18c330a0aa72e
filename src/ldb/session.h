#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debugger/run.h"
#include "redis/connection.h"
#include "redis/reply.h"

// A script in the debugger of a Redis server ("Debugging Lua scripts" in Redis's documentation):
// the connection, the commands and the server's messages, without what they say of the script.
// RedisDebugger moves a session from line to line and reads its messages.
// The end of a session is a result, Session::ending(), not an exception.

namespace rlctl::ldb {

// ---- Sessions ----

/// The prefixes of a message's items, as Redis writes them.
inline constexpr std::string_view kCallItem = "<redis> ", kReplyItem = "<reply> ",
                                  kErrorItem = "<error> ", kValueItem = "<retval> ";

using debugger::Debuggee;
using debugger::Ending;

/// Whether a fork would lose a part of the debuggee, so that Session::start() adds arguments.
bool is_padded_in_fork(const Debuggee& debuggee);

enum class Mode {
  kForked,  ///< in a fork of the server; what the script writes is discarded
  kSync,    ///< in the server itself, which does nothing else meanwhile
};

/// Where a script stopped: this line runs next.
struct Stop {
  int line = 0;
  enum class Reason { kStep, kBreakpoint, kCalledFor, kTimeout } reason = Reason::kStep;

  bool operator==(const Stop&) const = default;
};

/// The server's complete answer to one debugger command.
struct Message {
  /// "<redis> ...", "<reply> ...", without the stop itself. A server's <redict> or <command>
  /// becomes <redis> here.
  std::vector<std::string> items = {};
  std::optional<Stop> stop = {};  ///< std::nullopt if the script did not move, or ended
};

/// One script in a server's debugger, from SCRIPT DEBUG to the end of the connection, which is of
/// no use after it. The session uses only commands that all versions support.
///
///     idle → enabled → stopped ⇄ running → ended
///
/// Sends one command at a time: a server discards what follows a command in the same write.
/// Destroying a session before its end closes its connection: a forked script is ended, unless it
/// catches errors, and one in the server itself runs on to its end without stops.
class Session {
 public:
  struct Limits {
    /// For a stop after start() and step(), and for answers to commands.
    std::chrono::microseconds step{std::chrono::seconds(5)};
    /// For a stop after run(). It must be well above the time (5 s by default) after which a server
    /// reports by itself that a script has not stopped.
    std::chrono::microseconds run{std::chrono::seconds(30)};
  };

  /// `connection` must not have been used since it was opened.
  Session(redis::Connection connection, Mode mode, const Limits& limits)
      : connection_(std::make_unique<redis::Connection>(std::move(connection))),
        mode_(mode),
        limits_(limits) {}
  ~Session();
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;

  /// Sends the debuggee, and waits for the first stop. If there is none, ended() is true: the
  /// server refused the script, or it does not compile. Throws Interrupted, like everything that
  /// waits. Anything else that ends the session is its ending(). Throws std::logic_error if it was
  /// already started. In a fork, empty arguments may follow the debuggee's, so that the server
  /// keeps long ones.
  Message start(const Debuggee& debuggee);
  /// Runs to the next line. Requires a stop, like all calls below; else throws std::logic_error.
  Message step();
  /// Runs to the next breakpoint.
  Message run();
  /// Sends a debugger command that does not move the script: {"print"}, {"maxlen", "0"}. Throws
  /// UsageError, without sending anything, for a command that would end the session: an empty word,
  /// a word above 1024 bytes, more than 1024 words, or too many bytes in total (1024 for Valkey 9).
  /// `limit` bounds the wait for the answer; without it, the limit of a step does.
  Message ask(const std::vector<std::string>& words,
              std::optional<std::chrono::microseconds> limit = {});
  /// Whether the server is Valkey 9 or later, which rejects long commands and does not check the
  /// time while a script runs. Returns true if asking ended the session.
  bool is_valkey_9();
  /// Ends the script with an error at its current line. If a pcall catches it, the script runs on
  /// without a stop and has another ending.
  void abort_script();
  bool ended() const noexcept { return ending_.has_value(); }
  /// Throws std::bad_optional_access if the session has not ended.
  Ending ending() const { return ending_.value(); }
  /// The reply to the client: set for kReturned, kCompileError, kRunTimeError and kAborted, and for
  /// kRefused if the server replied with an error.
  const std::optional<redis::Reply>& reply() const noexcept { return reply_; }
  std::optional<redis::Reply> take_reply() { return std::move(reply_); }
  /// For kLost, kCutOff and kRefused: what happened, in one line.
  const std::string& why() const noexcept { return why_; }

 private:
  enum class State { kIdle, kStopped, kEnded };

  void require(State state) const;
  template <typename Talk>
  Message guarded(std::chrono::microseconds limit, bool may_stop, Talk talk);
  Message send(redis::Arguments words, std::chrono::microseconds limit, bool may_stop);
  Message move(std::string_view command, std::chrono::microseconds limit);
  Message parse(const redis::Reply& reply, bool may_stop);
  void read_result();
  void end(Ending ending, std::string why = {});
  void end_refused(redis::Reply reply);
  void send_abort() noexcept;

  std::unique_ptr<redis::Connection> connection_;  ///< null if the session ended or was moved from
  Mode mode_ = Mode::kForked;
  Limits limits_ = {};
  State state_ = State::kIdle;
  bool stopped_once_ = false;
  bool aborting_ = false;
  std::optional<bool> is_valkey_9_;  ///< std::nullopt: not asked yet
  std::optional<Ending> ending_;
  std::optional<redis::Reply> reply_;
  std::string why_;
};

// ---- Errors and their places ----

/// An error of a script, as a client sees it, and its place.
struct ScriptError {
  /// Without its place and the script's SHA1, with control bytes escaped.
  std::string message = {};
  int line = 0;  ///< 0 if not known
};

/// Reads an error reply of a script. `last_line` is that of the script's last stop, if it did not
/// run on from there: 0 before the first, std::nullopt if it did.
ScriptError explain_error(redis::ReplyView error_reply, std::string_view source,
                          std::optional<int> last_line = 0);

}  // namespace rlctl::ldb
