#pragma once

#include "cli/trial/measures.h"

namespace rlctl::cli::trial {

/// A condition of --assert, which must hold for every run: "worst<=1".
struct Assertion {
  std::string text;  ///< as given
  AssertedMeasure measure;
  bool (*compare)(double, double) = nullptr;
  double value = 0;
};

/// Parses a name, < <= == != >= or >, and a number; blanks between them are allowed. Throws
/// UsageError, also if the plan does not measure what it names.
Assertion parse_assertion(const std::string& text, const Plan& plan);

/// A message for each assertion that does not hold. An assertion about an unknown value does not
/// hold; without runs every value is unknown. An assertion about times fails if the sender
/// fell behind, and an upper bound fails if no limiter could have exceeded it under this traffic,
/// or if a search that tries every schedule had to leave some out.
std::vector<std::string> failures_of(std::span<const Assertion> assertions,
                                     std::span<const Run> runs);
/// A warning for each search that tried some schedules and had to leave others out, if an upper
/// bound holds for it: nothing was proved in any case, but the user should know.
std::vector<std::string> warnings_of(std::span<const Assertion> assertions,
                                     std::span<const Run> runs);

}  // namespace rlctl::cli::trial
