#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/connection.h"
#include "redis/reply.h"

namespace rlctl::ldb {

/// The prefixes of a message's items, as Redis writes them.
inline constexpr std::string_view kCallItem = "<redis> ", kReplyItem = "<reply> ",
                                  kErrorItem = "<error> ", kValueItem = "<retval> ";

/// A text that a server's debugger prints, without quotes around it: some servers write none.
std::string_view without_quotes(std::string_view text) noexcept;

/// A script to debug and the keys and arguments to call it with.
struct Debuggee {
  std::string name = {};    ///< for messages: a file's name without its folder
  std::string source = {};  ///< Lua
  std::vector<std::string> keys = {}, arguments = {};
  std::string shown = {};  ///< the author's text, with the same lines; empty: the source

  const std::string& shown_source() const { return shown.empty() ? source : shown; }
};

enum class Mode {
  kForked,  ///< in a fork of the server; what the script writes is discarded
  kSync,    ///< in the server itself, which does nothing else meanwhile
};

/// How a session ended.
enum class Ending {
  kReturned,  ///< the script returned, possibly an error reply
  kRefused,   ///< the server did not start a session
  kCompileError,
  kRunTimeError,
  kAborted,  ///< by abort_script()
  kCutOff,   ///< by rlctl: the script did not stop in time, or was cut off on purpose
  kLost,     ///< the connection broke, or the server's process was killed
};

/// Where a script stopped: this line runs next.
struct Stop {
  int line = 0;  ///< of the text that was sent
  enum class Reason { kStep, kBreakpoint, kCalledFor, kTimeout } reason = Reason::kStep;

  bool operator==(const Stop&) const = default;
};

/// The server's complete answer to one debugger command.
struct Message {
  /// "<redis> ...", "<reply> ...", without the stop itself. A server's <redict> or <command>
  /// becomes <redis> here.
  std::vector<std::string> items = {};
  std::optional<Stop> stop = {};  ///< none if the script did not move, or ended
  bool ended = false;
};

/// One script in a server's debugger, from SCRIPT DEBUG to the end of the connection, which is of
/// no use after it. See "Debugging Lua scripts" in Redis' documentation; the session uses only
/// commands that all versions support.
///
///     idle → enabled → stopped ⇄ running → ended
///
/// Sends one command at a time: a server discards what follows a command in the same write.
/// Destroying a session before its end closes its connection: a forked script is ended, as by
/// cut_off(), and one in the server itself runs on to its end without stops, as by let_go().
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
  Session(redis::Connection connection, Mode mode) : Session(std::move(connection), mode, {}) {}
  ~Session();
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;

  /// Sends `text` with the debuggee's keys and arguments, and waits for the first stop. If there is
  /// none, ended() is true: the server refused the script, or it does not compile. Throws
  /// Interrupted, like everything that waits. Anything else that ends the session is its ending().
  /// Throws std::logic_error if it was already started.
  Message start(const Debuggee& debuggee, std::string_view text);
  /// Runs to the next line. Requires a stop, like all calls below; else throws std::logic_error.
  Message step();
  /// Runs to the next breakpoint.
  Message run();
  /// Sends a debugger command that does not move the script: {"print"}, {"maxlen", "0"}. The code
  /// of "eval" may be long: it is split at blanks, and the server joins it again. Throws
  /// UsageError, without sending anything, for a command that would end the session: an empty word,
  /// a word above 1024 bytes, more than 1024 words, or too many bytes in total (1024 for Valkey 9).
  /// `limit` bounds the wait for the answer; none: the limit of a step.
  Message ask(const std::vector<std::string>& words,
              std::optional<std::chrono::microseconds> limit = {});
  /// Whether the server is Valkey 9 or later, which rejects long commands and does not check the
  /// time while a script runs. True if asking ended the session.
  bool is_valkey_9();
  /// Ends the script with an error at its current line. If a pcall catches it, the script runs on
  /// without a stop and has another ending.
  void abort_script();
  /// Ends the script with an error at its current line, as far as possible without waiting, and
  /// closes the connection: the ending is kCutOff with the given reason.
  void cut_off(std::string why);
  /// Closes the connection; the script runs on to its end without stops. The ending is kCutOff.
  void let_go(std::string why);

  bool ended() const noexcept { return ending_.has_value(); }
  /// Only if ended().
  Ending ending() const { return ending_.value(); }
  /// The reply to the client: set for kReturned, kCompileError, kRunTimeError and kAborted, and for
  /// kRefused if the server replied with an error.
  const std::optional<redis::Reply>& reply() const noexcept { return reply_; }
  std::optional<redis::Reply> take_reply() { return std::move(reply_); }
  /// For kLost, kCutOff and kRefused: what happened, in one line.
  const std::string& why() const noexcept { return why_; }

 private:
  enum class State { kIdle, kStopped, kEnded };

  template <typename Talk>
  Message guarded(Talk talk);
  Message say(redis::Arguments words, std::chrono::microseconds limit, bool may_stop);
  Message move(std::string_view command, std::chrono::microseconds limit);
  bool enable();
  Message begin();
  Message take(const redis::Reply& reply, bool may_stop);
  void take_result();
  void end(Ending ending, std::string why = {});
  void refuse(redis::Reply reply);
  void require(State state) const;

  void send_abort() noexcept;

  std::unique_ptr<redis::Connection> connection_;  ///< null if the session ended or was moved from
  Mode mode_;
  Limits limits_;
  std::chrono::microseconds limit_{};  ///< of the current wait
  bool moves_ = true;                  ///< the current wait is for a stop
  State state_ = State::kIdle;
  bool stopped_once_ = false;
  bool aborting_ = false;
  std::optional<bool> is_valkey_9_;  ///< none: not asked yet
  std::optional<Ending> ending_;
  std::optional<redis::Reply> reply_;
  std::string why_;
};

/// Whether a forked session can run a script reliably: since 7.0, servers discard parts of it while
/// it runs (madvise in the child) if its words are long: a page on average.
bool fits_forked(const Debuggee& debuggee, std::string_view text);

/// An error of a script, as a client sees it, and its place.
struct ScriptError {
  /// Without its place and the script's SHA1, with control bytes escaped; places within it
  /// ("user_script:3: " in an error that was passed on) refer to the source.
  std::string message = {};
  int line = 0;  ///< of the source; 0 if not known
};

struct ErrorPlaces {
  /// The source line for a line of the text that ran; 0 if there is none.
  std::function<int(int)> line_of = {};
  int last_line = 0;  ///< the script's last stop, as a line of the source
  std::string_view source = {};
};

/// Replaces line numbers of the script that ran by the source's, in a text from the server or a
/// probe: "user_script:7: ..." in an error that it caught. `lines` is ProbedScript::lines.
std::string with_source_lines(std::string_view text, const std::vector<int>& lines);

ScriptError explain_error(redis::ReplyView error_reply, const ErrorPlaces& places);

/// Why a script does not compile, as the server says; none if it does, or if this user may not ask.
std::optional<ScriptError> find_compile_error(redis::Connection& connection,
                                              const Debuggee& debuggee);

}  // namespace rlctl::ldb
