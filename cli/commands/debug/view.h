#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "cli/commands/debug/keys.h"
#include "cli/errors/failure.h"
#include "cli/terminal/terminal.h"
#include "debugger/debugger.h"
#include "debugger/run.h"
#include "limiter/limit.h"

namespace rlctl::cli::debug {

/// What `debug` prints as JSON: one object for each event.
extern const JsonOutput kJson;

// ---- How a run ended ----

/// Returns the problem if no script answered: the server refused, or the connection broke.
std::optional<Problem> problem_of(const debugger::RunResult& result);
ExitStatus status_of(const debugger::RunResult& result);
/// Formats the words of a call, those that need it in quotes, escaped.
std::string command_text(const debugger::Call& call);
/// Formats what a script returned in Lua's notation, not escaped: {0, 5, "a\n", nil, +OK, -ERR no}.
/// None if it did not return. `tells_cuts`: with what Redis cut numbers from: 0 (cut from 0.9).
std::optional<std::string> returned_text(const debugger::RunResult& result, bool tells_cuts);

// ---- How its reply reads ----

/// What a reply means to a caller that reads it as the options or the configuration say.
struct ReplyAsRead {
  limiter::Decision decision = {};
  std::string problem = {};  ///< why the reply cannot be read; empty: `decision` is set
};

// ---- What it did ----

struct ViewOptions {
  std::size_t maxlen = 256;  ///< the bytes of a value to show; 0: all
  bool cuts_source = false;  ///< cut source lines of a trace to the terminal's columns
  bool json = false;         ///< write traces as JSON
};

/// Writes a debugger's answers, as text, and traces, as text or JSON. In the text, everything is
/// escaped; tabs in the source become blanks.
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
///
/// As JSON, a trace is one event per line, as schema/debug.schema.json describes them.
class View {
 public:
  /// Appends to `out` and reads `debuggee`; both must outlive this.
  View(std::string& out, const Look& look, const debugger::Debuggee& debuggee,
       const ViewOptions& options = {});

  using Breakpoints = std::map<int, debugger::Breakpoint>;

  /// Reads the source of the debuggee again, after it has changed.
  void read_source();
  void halt(const debugger::Halt& halt, const Breakpoints& breakpoints);
  /// Shows lines of the source; numbers outside it are skipped.
  void source(int first, int last, int current, const Breakpoints& breakpoints);
  void breakpoint(const debugger::Breakpoint& breakpoint);
  /// Shows a watch, with its value if `has_value`.
  void watch(const debugger::Watch& watch, bool has_value);
  void frame(const lua::Frame& frame);
  void variable(const lua::Variable& variable);
  void call(const debugger::Call& call);
  /// Shows the values, one per line and numbered if there are several; or the error.
  void evaluation(const lua::Evaluation& evaluation);
  void result(const debugger::RunResult& result);
  void error(std::string_view message);
  void message(const debugger::ScriptMessage& message);
  /// Writes a message line; it may contain data.
  void say(std::string_view text);

  // A trace.

  void traced(const debugger::TracedLine& line);
  /// Shows the result, and what happened to the keys.
  void traced_result(const debugger::RunResult& result, const std::vector<KeyChange>& keys);
  /// Shows a decision: "reads as denied, retry_after 12.041 s".
  void reading(const ReplyAsRead& reading);

  /// Returns `text` cut to maxlen() bytes, at a character boundary.
  std::string shortened(std::string text) const;
  void set_maxlen(std::size_t bytes) { options_.maxlen = bytes; }
  std::size_t maxlen() const noexcept { return options_.maxlen; }
  int line_count() const noexcept { return static_cast<int>(source_.size()); }

 private:
  std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }
  std::string bar() const { return tone("|", Tone::kDim) + "   "; }
  /// Returns a line of the source as it is; empty for a number outside it.
  std::string_view bytes(int number) const;
  /// Returns a line of the source, escaped, with tabs as blanks; empty for a number outside it.
  std::string source_line(int number) const;
  /// Returns a line of the source without its indentation.
  std::string statement(int number) const;
  /// Formats a place in the source: "limit.lua:24".
  std::string place(int number) const;
  std::string value_text(const lua::Value& value) const;
  std::string short_text(const lua::Evaluation& evaluation) const;
  std::string outcome_line(const debugger::RunResult& result) const;
  void append_json(const debugger::TracedLine& line);
  void append_json(const debugger::RunResult& result, const std::vector<KeyChange>& keys);
  void append_json(const ReplyAsRead& reading);

  std::string& out_;
  Look look_;
  const debugger::Debuggee& debuggee_;
  std::vector<std::string_view> source_;  ///< the lines of the debuggee
  ViewOptions options_;
  std::string last_error_;  ///< the last error that the traced line shows
};

// ---- Which lines it reached ----

/// How often runs of a script reached each of its lines.
class Coverage {
 public:
  /// `coverable` are the numbers of the lines that can be reached.
  Coverage(std::string_view source, const std::set<int>& coverable);

  /// Adds a run's counts; lines that are not coverable are ignored.
  void add(const std::map<int, std::int64_t>& hits);

  std::int64_t reached() const noexcept;
  /// Whether less than this percentage of the lines was reached; never if there are none.
  bool is_below(double percent) const noexcept;
  /// Formats the total: "17 of 19 lines reached (89.5 %)".
  std::string summary() const;

  /// Appends each source line after its count ("12x", "***0" if it was never reached, nothing if it
  /// cannot be reached), then the summary.
  void append_text(std::string& out, const Look& look) const;
  /// Appends a JSON event for each line that can be reached, and one for the total.
  void append_json(std::string& out) const;
  /// Appends the counts in lcov's format, for genhtml; `path` is the source file.
  void append_lcov(std::string& out, std::string_view path) const;

 private:
  std::vector<std::string_view> lines_;  ///< the source, which must outlive this; [0] is line 1
  std::map<int, std::int64_t> hits_;     ///< the counts of the lines that can be reached
  std::int64_t runs_ = 0;
};

}  // namespace rlctl::cli::debug
