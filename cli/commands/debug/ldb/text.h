#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/commands/debug/pieces.h"
#include "cli/terminal/terminal.h"
#include "ldb/redis_debugger.h"
#include "ldb/session.h"

namespace rlctl::cli::debug {

/// Writes what Redis's debugger tells, as text. Everything is escaped.
///
///     |   redis> INCR k      1
///     |   n: 3
///     * limit.lua:5, breakpoint
///       4      n = n + i
///     ->5      redis.call('INCR', KEYS[1])
///       6    end
class LdbText {
 public:
  /// Appends to `out` and reads `debuggee`; both must outlive this.
  LdbText(std::string& out, const Look& look, const debugger::Debuggee& debuggee);

  /// Reads the source of the debuggee again, after it has changed.
  void read_source() { listing_.read_source(); }
  int line_count() const noexcept { return listing_.line_count(); }

  /// Shows where the script stopped and why, and the source around it.
  void stop(const ldb::RedisDebugger& debugger, bool is_first);
  /// Shows lines of the source; numbers outside it are skipped.
  void source(const ldb::RedisDebugger& debugger, int first, int last);
  void pieces(const ldb::RedisDebugger::Pieces& pieces);
  /// Shows a variable, and where it was found, unless `where` is empty.
  void variable(const ldb::Variable& variable, std::string_view where = {});
  void function(const ldb::StackEntry& function);
  void breakpoint(int line);
  /// Shows how the script ended.
  void end(const ldb::RedisDebugger& debugger);
  void error(std::string_view message);
  /// Writes a message line; it may contain data.
  void say(std::string_view message);

  void set_maxlen(std::size_t bytes) { maxlen_ = bytes; }
  std::size_t maxlen() const noexcept { return maxlen_; }

 private:
  std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }
  std::string cut(std::string_view text) const;
  void entry(std::string_view label, Tone tone, std::string_view text);
  void piece(const ldb::Printed& piece);
  void write_error(std::string_view escaped);
  void warn_if_rounded(std::string_view value);

  std::string& out_;
  Look look_;
  const debugger::Debuggee& debuggee_;
  Listing listing_;
  std::size_t maxlen_ = 256;
  bool has_warned_ = false;  ///< of rounded numbers
};

}  // namespace rlctl::cli::debug
