#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/burst/measure.h"
#include "cli/burst/report.h"
#include "cli/command.h"

namespace rlctl::cli {

/// What --assert says must hold of every run: "worst<=1".
struct Assertion {
  std::string text;  ///< as given
  BurstMeasure measure;
  bool (*compare)(double, double) = nullptr;
  double value = 0;
};

/// A name, < <= == != >= or >, and a number; blanks between them are allowed. Throws UsageError,
/// also for what is none of the measures, or only known under the real clock where that is not
/// asked for.
[[nodiscard]] Assertion parse_assertion(const std::string& text, bool real_clock,
                                        const std::vector<BurstMeasure>& measures);

/// "assertion 'worst<=1' does not hold: fixed-window has 2"; none where it holds. What is not known
/// does not hold, and where there are no runs nothing is known.
[[nodiscard]] std::optional<std::string> failure_of(const Assertion& assertion,
                                                    std::span<const BurstRun> runs);
/// The same of each of them, without those that hold.
[[nodiscard]] std::vector<std::string> failures_of(std::span<const Assertion> assertions,
                                                   std::span<const BurstRun> runs);
/// Says on stderr what does not hold; the status is that of it.
[[nodiscard]] ExitStatus tell_failures(const std::vector<std::string>& failures,
                                       const Invocation& invocation);

}  // namespace rlctl::cli
