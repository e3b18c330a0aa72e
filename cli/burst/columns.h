#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/burst/report.h"
#include "cli/term/sheet.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

/// What a cell says of what is not known, or not there.
inline constexpr std::string_view kNoValue = "-";

/// A table with a row for each run of a report, headed by its name.
class BurstColumns {
 public:
  /// `title` stands above the names. Both must outlive this.
  BurstColumns(const BurstReport& report, const Look& look, std::string_view title = {});

  /// A column; `cell` makes what it says of a run.
  void add(std::string_view title, const std::function<std::string(const BurstRun&)>& cell);
  void append(std::string& out) const { sheet_.append(out, look_); }

 private:
  const BurstReport& report_;
  const Look& look_;
  Sheet sheet_;
};

/// A run's name, as it may stand on a terminal.
[[nodiscard]] std::string shown_name(const BurstRun& run);

/// "2.770 %"; what is more than nothing never reads as nothing.
[[nodiscard]] std::string percent_text(double share);

}  // namespace rlctl::cli
