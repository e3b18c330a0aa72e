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

/// How items of a message begin, as Redis has them.
inline constexpr std::string_view kCallItem = "<redis> ", kReplyItem = "<reply> ",
                                  kErrorItem = "<error> ", kValueItem = "<retval> ";

/// What is debugged: a script and what it is called with.
struct Debuggee {
  std::string name = {};    ///< as messages call it: a file's name, without folders
  std::string source = {};  ///< Lua
  std::vector<std::string> keys = {}, arguments = {};
};

enum class Mode {
  kForked,  ///< in a copy of the server, which goes on; what the script writes is thrown away
  kSync,    ///< in the server itself, which does nothing else meanwhile
};

/// How a session ended.
enum class Ending {
  kReturned,  ///< the script gave a reply, which may be an error reply that it returned
  kRefused,   ///< the server did not begin one
  kCompileError,
  kRunTimeError,
  kAborted,  ///< by abort_script()
  kCutOff,   ///< by us: it came to no stop in time, or was not let go on
  kLost,     ///< the connection broke, or its process was killed
};

/// Where a script stands: this line comes next.
struct Stop {
  int line = 0;  ///< of the text that was sent
  enum class Reason { kStep, kBreakpoint, kCalledFor, kTimeout } reason = Reason::kStep;

  bool operator==(const Stop&) const = default;
};

/// What the server says of one debugger command, complete.
struct Message {
  /// "<redis> ...", "<reply> ...", without the stop's own. What a server calls <redict> or
  /// <command> is <redis> here.
  std::vector<std::string> items = {};
  std::optional<Stop> stop = {};  ///< none if the script stands where it stood, or ended
  bool ended = false;
};

/// One script in the debugger of a server, from SCRIPT DEBUG to the end of the connection, which
/// serves nothing else after it. See "Debugging Lua scripts" in Redis' documentation; all versions
/// are spoken to in the words that all of them know.
///
///     idle → enabled → stopped ⇄ running → ended
///
/// One command at a time, each waited for: what comes after a command in one write is lost. A
/// session that is destroyed before its end closes its connection: a forked script is ended, as by
/// cut_off(), and one in the server itself runs on to its end without stops, as by let_go().
class Session {
 public:
  struct Limits {
    /// For a stop after start() and step(), and for what commands answer.
    std::chrono::microseconds step{std::chrono::seconds(5)};
    /// For a stop after run(), until which a server says by itself that there is none in sight: a
    /// good deal more than the time after which it looks, which is 5 s by default.
    std::chrono::microseconds run{std::chrono::seconds(30)};
  };

  /// `connection` has sent nothing yet, but what it sends by itself.
  Session(redis::Connection connection, Mode mode, const Limits& limits)
      : connection_(std::make_unique<redis::Connection>(std::move(connection))),
        mode_(mode),
        limits_(limits) {}
  Session(redis::Connection connection, Mode mode) : Session(std::move(connection), mode, {}) {}
  ~Session();
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;

  /// Sends `text` with the debuggee's keys and arguments, and waits for the first stop. Where there
  /// is none, ended() is true: the server refused it, or it does not compile.
  /// Throws redis::Error: kInterrupted, as all that waits does, and what the connection's AUTH and
  /// SELECT come to. Whatever else ends the session is its ending(). Throws std::logic_error where
  /// it was started before.
  [[nodiscard]] Message start(const Debuggee& debuggee, std::string_view text);
  /// To the next line that is executed. Only at a stop, as all that follows: else std::logic_error.
  [[nodiscard]] Message step();
  /// To the next breakpoint.
  [[nodiscard]] Message run();
  /// A command of the debugger's by which the script does not move: {"print"}, {"maxlen", "0"}.
  /// The code of "eval" may be long: it is cut at blanks, where the server puts it together again.
  /// Throws UsageError for what the server would end the session for, and it is not sent:
  /// an empty word, one above 1024 bytes, more than 1024 of them or too many bytes altogether,
  /// which for Valkey 9 are 1024.
  /// `limit` is for its answer; none: that of a step.
  [[nodiscard]] Message ask(const std::vector<std::string>& words,
                            std::optional<std::chrono::microseconds> limit = {});
  /// Whether the server is Valkey 9 or later, which takes no long commands, and does not look at
  /// the time while a script runs. True if the session ended while it was asked.
  [[nodiscard]] bool is_valkey_9();
  /// Ends the script by an error at its line, which pcall may catch: then it goes on without a stop
  /// and has another ending.
  void abort_script();
  /// Ends the script by an error at its line, as far as that can be done without waiting, and
  /// closes the connection: the ending is kCutOff for the reason given.
  void cut_off(std::string why);
  /// Closes the connection; the script runs on to its end without stops. kCutOff as well.
  void let_go(std::string why);

  [[nodiscard]] bool ended() const noexcept { return ending_.has_value(); }
  /// Only where ended().
  [[nodiscard]] Ending ending() const { return ending_.value(); }
  /// What a client gets: kReturned, kCompileError, kRunTimeError and kAborted have one, and
  /// kRefused where the server said no.
  [[nodiscard]] const std::optional<redis::Reply>& reply() const noexcept { return reply_; }
  [[nodiscard]] std::optional<redis::Reply> take_reply() { return std::move(reply_); }
  /// Of kLost, kCutOff and kRefused: what happened, in one line.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

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

  std::unique_ptr<redis::Connection> connection_;  ///< none if it ended, or was moved
  Mode mode_;
  Limits limits_;
  std::chrono::microseconds limit_{};  ///< of the wait there is
  bool moves_ = true;                  ///< it is for a stop
  State state_ = State::kIdle;
  bool stopped_once_ = false;
  bool aborting_ = false;
  std::optional<bool> is_valkey_9_;  ///< none: not asked yet
  std::optional<Ending> ending_;
  std::optional<redis::Reply> reply_;
  std::string why_;
};

/// Whether a forked session can be trusted with a script: servers from 7.0 on throw parts of it
/// away while it runs (madvise in the child) where its words are long: a page on average.
[[nodiscard]] bool fits_forked(const Debuggee& debuggee, std::string_view text);

/// What went wrong in a script, in the words a client gets, and where.
struct ScriptError {
  /// Without its place and the script's SHA1, control bytes escaped; the places left in it
  /// ("user_script:3: ", of an error that was passed on) are the source's.
  std::string message = {};
  int line = 0;  ///< of the source; 0 if it is not known
};

struct ErrorPlaces {
  /// The source's line for one of the text that ran; 0 for none.
  std::function<int(int)> line_of = {};
  int last_line = 0;  ///< where the script stopped last; of the source
  std::string_view source = {};
};

/// Puts the source's lines where a text of the server's, or of a probe's, names those of the script
/// that ran: "user_script:7: ..." of an error that the script caught. `lines` as of ProbedScript.
[[nodiscard]] std::string with_source_lines(std::string_view text, const std::vector<int>& lines);

[[nodiscard]] ScriptError explain_error(redis::ReplyView error_reply, const ErrorPlaces& places);

}  // namespace rlctl::ldb
