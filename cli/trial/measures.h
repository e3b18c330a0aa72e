#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <variant>

#include "base/json_object.h"
#include "cli/trial/document.h"
#include "cli/trial/report.h"

namespace rlctl::cli::trial {

// The numbers of a run. Each is one row of the tables in measures.cc, from which come its field in
// JSON and what the schema says about it, its column in the text, and its name in --assert.

/// The value of a measure; none if it is unknown.
using Value = std::optional<std::variant<std::int64_t, double, bool>>;

/// The type of a measure without a field in JSON.
inline constexpr JsonType kNoField{};
// What is said of the fields of any worst window.
inline constexpr std::string_view
    kWorstAllowedAbout = "The number of units.",
    kWorstRatioAbout = "The units as a multiple of the limit: 1 is a limit that was just kept.",
    kWorstFromAbout =
        "Where the shortest span that held them begins, in microseconds since 1970; null if "
        "nothing was allowed.",
    kWorstSpanAbout = "The length of that span in microseconds; null if nothing was allowed.";

/// Whether --assert can compare a measure.
enum Asserted : bool { kNotAsserted, kAsserted };

/// The most that a number of a run could have been, whatever the limiter decided.
struct Ceiling {
  double most = HUGE_VAL;
  std::string why = {};  ///< why it could not be more
};

struct Cell;  ///< a run's value and what its text depends on
/// A column of a table for people, with a row for each run.
struct Column {
  std::string_view title = {};  ///< empty: there is none; {} stands for the window
  /// Null: the value as it is. Not called for an unknown value; an empty text stands for one.
  Text (*text)(const Cell&) = nullptr;
  bool (*is_shown)(const Report&) = nullptr;  ///< null: always
};

/// One number that describes a run.
struct Measure {
  std::string_view name;   ///< empty: it is only a column, shown if the value is known
  JsonType type;           ///< of its field in JSON
  std::string_view about;  ///< the sentence of the schema about it
  Value (*of)(const Run&);
  Asserted asserted = kAsserted;
  Column column = {};
  /// Null if there is none, or none that users do not know, such as the requests sent.
  Ceiling (*ceiling)(const Run&) = nullptr;
};

/// A group of measures, whose name, unless it is empty, precedes the names of its measures in
/// assertions.
struct MeasureGroup {
  std::string_view name;
  std::span<const Measure> measures;
  JsonObject<Run> json;  ///< the fields
};
extern const MeasureGroup kCountGroup, kWorstGroup, kDenialGroup, kDelayGroup, kRetryGroup,
    kRemainingGroup, kResetGroup, kMemoryGroup, kPaceGroup, kMinuteGroup, kLeaseGroup, kBudgetGroup,
    kHolderGroup;

/// None for a log, which uses no random numbers.
std::optional<std::uint64_t> seed_of(const Report& report);

// --- Outputs -------------------------------------------------------------------------------------

/// A table for people: what each limiter decided. `origin` is that of the times, relative to
/// Run::begin.
Rows decisions_table(const Report& report, std::chrono::microseconds origin);
/// The cell for a value that is unknown or does not exist.
inline constexpr std::string_view kNoValue = "-";
/// "2.770 %"; a nonzero share never prints as 0.
std::string percent_text(double share);

/// A number of a run that --assert can compare.
struct AssertedMeasure {
  std::string name;
  std::function<std::optional<double>(const Run&)> of;  ///< none if it is unknown
  bool needs_stepping_back = false;  ///< known only if a search tries a clock that steps back
  Ceiling (*ceiling)(const Run&) = nullptr;  ///< see Measure
};
std::vector<AssertedMeasure> traffic_measures();
/// The measures of leases.
std::vector<AssertedMeasure> lease_measures();
/// The measures of reservations.
std::vector<AssertedMeasure> budget_measures();
/// The measures of a search for leases, or for reservations.
std::vector<AssertedMeasure> holder_search_measures(bool of_budget);
/// The measures of a search.
std::vector<AssertedMeasure> search_measures();

}  // namespace rlctl::cli::trial
