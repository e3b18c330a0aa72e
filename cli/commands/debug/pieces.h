#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/errors/failure.h"
#include "cli/terminal/terminal.h"
#include "debugger/run.h"
#include "ldb/session.h"
#include "lua/value.h"
#include "redis/reply.h"

namespace rlctl::cli::debug {

// What every way to debug a script shows alike: its source, its end and its reply.

/// What a user is told who leaves a script that runs in the server itself.
inline constexpr const char* kRunsOn =
    "the script continues to its end in the server, and what it writes is kept";

/// What to do about a command that this process does not have.
inline constexpr const char* kOnServer = "--ldb runs the script on a server";

/// Returns the problem if no script answered: the server refused, or the connection broke, which
/// `why` tells. `reply` is that to the client, if there is one.
std::optional<Problem> problem_of(debugger::Ending ending, const std::optional<redis::Reply>& reply,
                                  const std::string& why);
ExitStatus status_of(debugger::Ending ending, const std::optional<redis::Reply>& reply);
/// Describes what happened to the script's writes on a server that is not private. A script cannot
/// be ended if it catches the error meant to end it, or is inside one long call.
std::string kept_text(ldb::Mode mode, debugger::Ending ending);
/// Formats how a script ended that did not return, not escaped: "error at line 12: ...". `line` is
/// 0 if it is not known.
std::string ending_text(debugger::Ending ending, int line, std::string_view message);
/// Formats a reply in Lua's notation: {0, "a", nil, +OK, -ERR no}. `from`: the value that the
/// script returned; null if it is not known.
std::string reply_text(redis::ReplyView reply, const lua::Value* from = nullptr);

/// Parses the bytes of a value to show: at least 60, as in Redis' own debugger, or 0 for all.
/// Throws UsageError.
std::size_t parse_maxlen(const std::string& text);
/// Returns `text` cut to `maxlen` bytes, at a character boundary; 0: all of it.
std::string shortened(std::string text, std::size_t maxlen);

/// Lists the source of a script. Everything is escaped; tabs in the source become blanks.
///
///        4      count = count + i
///     ->#5      redis.call('INCR', KEYS[1])
///        6    end
class Listing {
 public:
  /// `debuggee` must outlive this.
  Listing(const debugger::Debuggee& debuggee, const Look& look);

  /// Reads the source of the debuggee again, after it has changed.
  void read_source();
  int line_count() const noexcept { return static_cast<int>(source_.size()); }
  /// Returns a line of the source as it is; empty for a number outside it.
  std::string_view bytes(int number) const;
  /// Returns a line of the source, escaped, with tabs as blanks; empty for a number outside it.
  std::string line(int number) const;
  /// Returns a line of the source without its indentation.
  std::string statement(int number) const;
  /// Formats a place in the source: "limit.lua:24".
  std::string place(int number) const;
  /// Appends lines of the source to `out`; numbers outside it are skipped.
  void append(std::string& out, int first, int last, int current,
              const std::function<bool(int)>& has_breakpoint) const;

 private:
  const debugger::Debuggee& debuggee_;
  Look look_;
  std::vector<std::string_view> source_;
};

}  // namespace rlctl::cli::debug
