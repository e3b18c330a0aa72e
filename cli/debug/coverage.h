#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/term/terminal.h"

namespace rlctl::cli {

/// How often each line of a script was reached, by any number of runs.
class Coverage {
 public:
  /// `coverable`: the lines that can be reached.
  Coverage(std::string_view source, const std::vector<int>& coverable);

  /// A run's; of other lines than those that can be reached nothing is counted.
  void add(const std::map<int, std::int64_t>& hits);

  [[nodiscard]] std::int64_t runs() const noexcept { return runs_; }
  /// Of the lines that can be reached.
  [[nodiscard]] const std::map<int, std::int64_t>& hits() const noexcept { return hits_; }
  [[nodiscard]] std::int64_t reached() const noexcept;
  /// "17 of 19 lines reached (89.5 %)"
  [[nodiscard]] std::string summary() const;

  /// Every line of the source behind its count: "12x", "***0" where it was never reached, nothing
  /// where there is nothing to reach. Then the summary.
  void append_text(std::string& out, const Look& look) const;
  /// An event for each line that can be reached, and one for all of them; a line each.
  void append_json(std::string& out) const;
  /// As lcov and genhtml read it; `path` is the source's file.
  void append_lcov(std::string& out, std::string_view path) const;

 private:
  std::vector<std::string_view> lines_;  ///< of the source, which must outlive this; [0] is line 1
  std::map<int, std::int64_t> hits_;
  std::int64_t runs_ = 0;
};

}  // namespace rlctl::cli
