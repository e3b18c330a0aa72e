#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal.h"

namespace rlctl::cli::debug {

/// How often runs of a script reached each of its lines.
class Coverage {
 public:
  /// `coverable` are the numbers of the lines that can be reached.
  Coverage(std::string_view source, const std::vector<int>& coverable);

  /// Adds a run's counts; lines that are not coverable are ignored.
  void add(const std::map<int, std::int64_t>& hits);

  [[nodiscard]] std::int64_t reached() const noexcept;
  /// Whether less than this percentage of the lines was reached; never if there are none.
  [[nodiscard]] bool is_below(double percent) const noexcept;
  /// Formats the total: "17 of 19 lines reached (89.5 %)".
  [[nodiscard]] std::string summary() const;

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
