#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/term/style.h"
#include "cli/term/terminal.h"
#include "ldb/trace.h"

namespace rlctl::cli {

/// A trace as people read it: each line of the script that was executed, and below it what it did.
///
///     + limit.lua:24  local len = redis.call('LLEN', key)
///     |   redis> LLEN login:ann      5
///     |   len: 5
///     ...
///     = {0, 0, 12041000, 59310000, 0, 1}    19 lines, 3 redis calls; nothing was changed
///
/// What failed has a line that begins with "!". Everything is escaped, but for tabs, which become
/// blanks.
class TraceText {
 public:
  /// Appends to `out`; looks into `debuggee`. `cuts`: lines of the source are cut to the columns
  /// there are, which is for terminals.
  TraceText(std::string& out, const Look& look, const ldb::Debuggee& debuggee, bool cuts = false);

  void line(const ldb::TracedLine& line);
  /// `changes` is one line: "nothing was changed"; it may be empty.
  void result(const ldb::TraceResult& result, std::string_view changes);

 private:
  [[nodiscard]] std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }
  void add(std::string_view line);
  void add_source(std::string_view line);
  void add_call(const ldb::Call& call);
  void add_error(std::string_view message);

  std::string& out_;
  Look look_;
  bool cuts_;
  const ldb::Debuggee& debuggee_;
  std::vector<std::string_view> source_;
  std::string last_error_;  ///< of the last line, as shown
};

/// A line of a source, escaped, and tabs as blanks.
[[nodiscard]] std::string source_text(std::string_view line);
/// "SET k 'a b'": its words as they are told, escaped.
[[nodiscard]] std::string command_text(const ldb::Call& call);
/// What a run came to: "{1, 4}", "error at line 12: ...". Raw.
[[nodiscard]] std::string outcome_text(const ldb::TraceResult& result);

}  // namespace rlctl::cli
