#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/debug/keys.h"
#include "cli/errors/failure.h"
#include "cli/terminal/terminal.h"
#include "ldb/debugger.h"
#include "ldb/trace.h"
#include "limiter/decision.h"

namespace rlctl::cli::debug {

// ---- How a run ended ----

/// Returns the problem if no script answered: the server refused, or the connection broke.
[[nodiscard]] std::optional<Problem> problem_of(const ldb::TraceResult& result);
[[nodiscard]] ExitStatus status_of(const ldb::TraceResult& result);
/// Describes what happened to the script's writes on a server that is not private. A script cannot
/// be ended if it catches the error meant to end it, or is inside one long call.
[[nodiscard]] std::string kept_text(ldb::Mode mode, ldb::Ending ending);
/// Formats what a script returned in Lua's notation, not escaped: {0, 5, "a\n", nil, +OK, -ERR no}.
/// None if it did not return.
[[nodiscard]] std::optional<std::string> returned_text(const ldb::TraceResult& result);

// ---- How its reply reads ----

/// What a reply means to a caller that reads it as the options or the configuration say.
struct ReplyAsRead {
  limiter::Decision decision = {};
  std::string problem = {};  ///< why the reply cannot be read; empty: `decision` is set
};

// ---- What it did ----

/// The minimum of bytes of a value to show, as in Redis' own debugger; 0, for all, is allowed too.
inline constexpr int kMinMaxlen = 60;

struct ViewLengths {
  std::size_t value = 256;   ///< the bytes of a value to show; 0: all
  bool cuts_source = false;  ///< cut source lines of a trace to the terminal's columns
};

/// Writes a debugger's answers and traces as text. Everything is escaped; tabs in the source become
/// blanks.
///
///     |   redis> INCR k      1
///     |   count: 3
///     * limit.lua:5, breakpoint
///        4      count = count + i
///     ->#5      redis.call('INCR', KEYS[1])
///        6    end
///
/// A trace shows each executed line of the script and, below it, what it did; a line that begins
/// with "!" is an error:
///
///     + limit.lua:24  local len = redis.call('LLEN', key)
///     |   redis> LLEN login:ann      5
///     |   len: 5
///     ...
///     = {0, 0, 12041000, 59310000, 0, 1}    19 lines, 3 redis calls; nothing was changed
class View {
 public:
  /// Appends to `out` and reads `debuggee`; both must outlive this.
  View(std::string& out, const Look& look, const ldb::Debuggee& debuggee,
       const ViewLengths& lengths = {});

  using Breakpoints = std::map<int, ldb::Breakpoint>;

  /// Reads the source of the debuggee again, after it has changed.
  void read_source();
  void halt(const ldb::Halt& halt, const Breakpoints& breakpoints);
  /// Shows lines of the source; numbers outside it are skipped.
  void source(int first, int last, int current, const Breakpoints& breakpoints);
  void breakpoint(const ldb::Breakpoint& breakpoint);
  /// Shows a watch, with its value if `has_value`.
  void watch(const ldb::Watch& watch, bool has_value);
  void frame(const ldb::Frame& frame);
  void local(const ldb::LocalChange& local);
  void call(const ldb::Call& call);
  /// Shows the values, one per line and numbered if there are several; or the error.
  void evaluation(const ldb::Evaluation& evaluation);
  void result(const ldb::TraceResult& result);
  void error(std::string_view message);
  /// Writes a message line; it may contain data.
  void say(std::string_view text);

  void traced(const ldb::TracedLine& line);
  /// Shows the result of a trace. `changes` is text such as "nothing was changed", or empty.
  void traced_result(const ldb::TraceResult& result, std::string_view changes);
  /// Shows a decision: "reads as denied, retry_after 12.041 s".
  void reading(const ReplyAsRead& reading);

  /// Returns `text` cut to maxlen() bytes, at a character boundary.
  [[nodiscard]] std::string shortened(std::string text) const;
  void set_maxlen(std::size_t bytes) { lengths_.value = bytes; }
  [[nodiscard]] std::size_t maxlen() const noexcept { return lengths_.value; }
  [[nodiscard]] int line_count() const noexcept { return static_cast<int>(source_.size()); }

 private:
  [[nodiscard]] std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }
  [[nodiscard]] std::string bar() const { return tone("|", Tone::kDim) + "   "; }
  [[nodiscard]] std::string place(int line) const;
  [[nodiscard]] std::string value_text(const ldb::Value& value) const;
  [[nodiscard]] std::string short_text(const ldb::Evaluation& evaluation) const;
  [[nodiscard]] std::string source_line(int line) const;
  [[nodiscard]] std::string statement(int line) const;
  [[nodiscard]] std::string outcome_line(const ldb::TraceResult& result) const;
  void message(const ldb::ScriptMessage& message);
  void heading(const ldb::Halt& halt, const Breakpoints& breakpoints);

  std::string& out_;
  Look look_;
  const ldb::Debuggee& debuggee_;
  std::vector<std::string_view> source_;
  ViewLengths lengths_;
  std::string last_error_;  ///< the last error that the traced line shows
};

/// A trace as JSON, one event per line; no field changes its type except to null:
///
///     {"event":"line","line":24,"source":"local len = redis.call('LLEN', key)"}
///     {"event":"call","line":24,"command":["LLEN","login:ann"],"exact":true,"reply":"5","error":null}
///     {"event":"debug","line":24,"message":"\"a\", 1"}
///     {"event":"log","line":24,"level":"notice","message":"hello"}
///     {"event":"local","line":24,"name":"len","value":"5","exact":true}
///     {"event":"result","ending":"returned","value":"{1, 4}","error":null,"error_line":null,
///      "lines":19,"calls":3,"exact":true}
///     {"event":"reading","allowed":true,"remaining":3,"retry_after_us":0,
///      "reset_after_us":null,"delay_us":0,"error":null}
///     {"event":"key","key":"login:ann","before":null,"after":"list, ...","changed":true}
///
/// Replies are in the debugger's notation, values in Lua's. A command that is not exact is a single
/// text of its first ten words.
class TraceJson {
 public:
  /// Appends to `out` and reads `debuggee`.
  TraceJson(std::string& out, const ldb::Debuggee& debuggee);

  void line(const ldb::TracedLine& line);
  void result(const ldb::TraceResult& result);
  void reading(const ReplyAsRead& reading);
  void key(const KeyChange& change);

 private:
  std::string& out_;
  std::vector<std::string_view> source_;
};

}  // namespace rlctl::cli::debug
