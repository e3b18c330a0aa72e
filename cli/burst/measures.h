#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/burst/report.h"
#include "cli/command.h"
#include "limiter/decision.h"
#include "traffic/traffic.h"

namespace rlctl::cli {

// A report's numbers for programs: JSON, CSV and assertions, all generated from the tables in
// measures.cc.

/// One JSON object and a newline. Unknown values are null.
void append_burst_json(std::string& out, const BurstReport& report);

/// A line of column names, then one row per run. Unknown values are empty.
void append_burst_csv(std::string& out, const BurstReport& report);

/// One decision of the run with this name: a JSON object and a newline.
void append_decision_json(std::string& out, std::string_view run, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision);

/// A number of a run that --assert can compare.
struct BurstMeasure {
  std::string name;
  std::function<std::optional<double>(const BurstRun&)> of;  ///< none if it is unknown
  bool needs_real_clock = false;
  std::int64_t needs_answers = 0;  ///< with fewer, the value is unknown
};

[[nodiscard]] std::vector<BurstMeasure> burst_measures();
/// The measures of a search.
[[nodiscard]] std::vector<BurstMeasure> search_measures();

/// A condition of --assert, which must hold for every run: "worst<=1".
struct Assertion {
  std::string text;  ///< as given
  BurstMeasure measure;
  bool (*compare)(double, double) = nullptr;
  double value = 0;
};

/// Parses a name, < <= == != >= or >, and a number; blanks between them are allowed. Throws
/// UsageError, also if the name is not one of the measures, or if the measure needs the real clock
/// and the clock is virtual.
[[nodiscard]] Assertion parse_assertion(const std::string& text, bool real_clock,
                                        const std::vector<BurstMeasure>& measures);

/// A message for each assertion that does not hold. An assertion about an unknown value does not
/// hold; without runs every value is unknown.
[[nodiscard]] std::vector<std::string> failures_of(std::span<const Assertion> assertions,
                                                   std::span<const BurstRun> runs);
/// Writes the failures to stderr, and returns the exit status.
[[nodiscard]] ExitStatus tell_failures(const std::vector<std::string>& failures,
                                       const Invocation& invocation);

}  // namespace rlctl::cli
