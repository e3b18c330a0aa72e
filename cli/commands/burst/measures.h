#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/commands/burst/data.h"
#include "limiter/decision.h"
#include "traffic/traffic.h"

namespace rlctl::cli::burst {

// A report's numbers for programs: JSON, CSV and assertions, all generated from the tables in
// measures.cc.

/// One JSON object and a line end. Unknown values are null.
void append_json(std::string& out, const Report& report);

/// A line of column names, then one row per run. Unknown values are empty.
void append_csv(std::string& out, const Report& report);

/// One decision of the run with this name: a JSON object and a line end.
void append_decision_json(std::string& out, std::string_view run, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision);

/// The values that a number of a run could have had, whatever the limiter decided.
struct Reach {
  double least = 0, most = HUGE_VAL;
  std::string because = {};  ///< why not more; empty: by its nature
};

/// A number of a run that --assert can compare.
struct AssertedMeasure {
  std::string name;
  std::function<std::optional<double>(const Run&)> of;  ///< none if it is unknown
  bool needs_real_clock = false;
  bool needs_stepping_back = false;  ///< known only if a search tries a clock that steps back
  std::int64_t needs_answers = 0;    ///< with fewer, the value is unknown
  /// Null for a number that is not the limiter's, such as the requests sent, and for one that tells
  /// something whatever it is.
  Reach (*reach)(const Run&) = nullptr;
};

[[nodiscard]] std::vector<AssertedMeasure> traffic_measures();
/// The measures of a search.
[[nodiscard]] std::vector<AssertedMeasure> search_measures();

}  // namespace rlctl::cli::burst
