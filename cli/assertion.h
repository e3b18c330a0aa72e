#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/burst_report.h"

namespace rlctl::cli {

/// What --assert says must hold of every run: "worst<=1".
struct Assertion {
  std::string text;  ///< as given
  double (*measure)(const BurstRun&) = nullptr;
  bool (*compare)(double, double) = nullptr;
  double value = 0;
};

/// A name, < <= == != >= or >, and a number; blanks between them are allowed. Throws UsageError.
[[nodiscard]] Assertion parse_assertion(const std::string& text);

/// "assertion 'worst<=1' does not hold: fixed-window has 2"; none where it holds. Where there are
/// no runs nothing is known, and it does not hold.
[[nodiscard]] std::optional<std::string> failure_of(const Assertion& assertion,
                                                    std::span<const BurstRun> runs);

/// The names that can be asserted something of, as in a sentence.
[[nodiscard]] std::string assertable_names();

}  // namespace rlctl::cli
