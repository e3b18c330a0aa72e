#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal.h"
#include "debugger/run.h"

namespace rlctl::cli::debug {

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
