#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace rlctl::cli::quota {

/// A range of the Monitoring Plugins guidelines, [@]START:END, in units or in percent of a limit: a
/// value outside it alerts, or with @ one inside it, the ends included.
struct Range {
  double start = 0;
  double end = std::numeric_limits<double>::infinity();
  bool alerts_inside = false;
  bool in_percent = false;
};

/// "10" (0 to 10), "10:", "~:10", "10:20", "@10:20"; with a % after each number, percent of the
/// limit. Throws UsageError naming the option.
Range parse_range(std::string_view text, std::string_view option);

/// Whether this use of a limit alerts. None if the use is not known or, for a range in percent, the
/// limit of a use above 0.
std::optional<bool> alerts(const Range& range, std::optional<std::int64_t> used,
                           std::optional<std::int64_t> limit);
/// Whether `critical` alerts at an end that lies inside `warning`, so that a use may be critical
/// before it is a warning. False if that cannot be told: if one range alerts inside it, or if only
/// one of them is a percentage and the limit is unknown.
bool is_critical_first(const Range& critical, const Range& warning,
                       std::optional<std::int64_t> limit = std::nullopt);
/// Whether no use from nothing to all of the limit alerts, although the range has an end.
bool alerts_only_above(const Range& range, std::int64_t limit);

/// The range in units, as performance data shows it: "800", "~:10". Empty if it is not known.
std::string range_text(const Range& range, std::optional<std::int64_t> limit);

}  // namespace rlctl::cli::quota
