#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/term/terminal.h"
#include "ldb/debugger.h"

namespace rlctl::cli {

/// How a debugger's answers look. Everything is escaped, and appended to a text.
///
///     |   redis> INCR k      1
///     |   count: 3
///     * limit.lua:5, breakpoint
///        4      count = count + i
///     ->#5      redis.call('INCR', KEYS[1])
///        6    end
class DebugView {
 public:
  /// The least that maxlen() can be.
  static constexpr std::size_t kShortest = 60;

  /// Appends to `out`; looks into `debuggee`.
  DebugView(std::string& out, const Look& look, const ldb::Debuggee& debuggee);

  using Breakpoints = std::map<int, ldb::Breakpoint>;

  void halt(const ldb::Halt& halt, const Breakpoints& breakpoints);
  /// Lines of the source, those that there are.
  void source(int first, int last, int current, const Breakpoints& breakpoints);
  void breakpoint(const ldb::Breakpoint& breakpoint);
  /// With the value that it has, where that is known.
  void watch(const ldb::Watch& watch, bool has_value);
  void frame(const ldb::Frame& frame);
  void local(const ldb::LocalChange& local);
  void call(const ldb::Call& call);
  /// The values, one a line with its number where there are several; or what is wrong.
  void evaluation(const ldb::Evaluation& evaluation);
  void result(const ldb::TraceResult& result);
  void error(std::string_view message);
  /// A line of our own words, that may hold others'.
  void say(std::string_view text);

  /// How many bytes of a value are shown; 0: all.
  void set_maxlen(std::size_t maxlen) { maxlen_ = maxlen; }
  [[nodiscard]] std::size_t maxlen() const noexcept { return maxlen_; }
  [[nodiscard]] int line_count() const noexcept { return static_cast<int>(source_.size()); }

 private:
  void heading(const ldb::Halt& halt, const Breakpoints& breakpoints);
  [[nodiscard]] std::string shortened(std::string text) const;
  [[nodiscard]] std::string value_text(const ldb::Value& value) const;
  [[nodiscard]] std::string short_text(const ldb::Evaluation& evaluation) const;
  [[nodiscard]] std::string_view source_line(int line) const;
  [[nodiscard]] std::string arrow() const;

  std::string& out_;
  Look look_;
  const ldb::Debuggee& debuggee_;
  std::vector<std::string_view> source_;
  std::size_t maxlen_ = 256;
};

}  // namespace rlctl::cli
