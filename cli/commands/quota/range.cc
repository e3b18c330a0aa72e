#include "cli/commands/quota/range.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/options.h"

namespace rlctl::cli::quota {

static constexpr const char* kRangeHint =
    "a range is END, START:, START:END or ~:END, in units or with % after each number; "
    "@START:END alerts inside it";

Range parse_range(std::string_view text, std::string_view option) {
  const auto refuse = [&](const std::string& what, const std::string& hint = {}) {
    throw UsageError(std::string(option) + ": " + quoted_and_masked(text) + " " + what, hint);
  };
  Range range;
  bool has_units = false;
  const auto parse_bound = [&](std::string_view bound) {
    const bool is_percent = bound.ends_with('%');
    (is_percent ? range.in_percent : has_units) = true;
    const auto value = to_decimal(bound.substr(0, bound.size() - (is_percent ? 1 : 0)));
    if (!value) refuse("is not a range: '" + escape(bound, 40) + "' is not a number", kRangeHint);
    if (!is_percent && *value != std::floor(*value)) {
      refuse("is in units, which are whole", percentage_hint(std::abs(*value)));
    }
    return value.value();
  };
  auto rest = text;
  if (rest.starts_with('@')) {
    range.alerts_inside = true;
    rest.remove_prefix(1);
  }
  const auto colon = rest.find(':');
  if (rest.empty() || rest == ":") refuse("is not a range", kRangeHint);
  const auto start = colon == rest.npos ? "" : rest.substr(0, colon);
  const auto end = colon == rest.npos ? rest : rest.substr(colon + 1);
  if (start == "~") {
    range.start = -std::numeric_limits<double>::infinity();
  } else if (!start.empty()) {
    range.start = parse_bound(start);
  }
  if (!end.empty()) range.end = parse_bound(end);
  if (range.in_percent && has_units) {
    refuse("has one end in percent and the other in units", "write % after both or neither");
  }
  if (range.start > range.end) refuse("starts above its end");
  return range;
}

std::optional<bool> alerts(const Range& range, std::optional<std::int64_t> used,
                           std::optional<std::int64_t> limit) {
  // Nothing used is 0 % of any limit.
  if (used == 0) limit = 1;
  if (!used || (range.in_percent && !limit)) return std::nullopt;
  const auto scale = range.in_percent ? static_cast<double>(*limit) : 1;
  const auto value = static_cast<double>(*used) * (range.in_percent ? 100 : 1);
  const bool is_inside = value >= range.start * scale && value <= range.end * scale;
  return is_inside == range.alerts_inside;
}

bool is_critical_first(const Range& critical, const Range& warning,
                       std::optional<std::int64_t> limit) {
  if (critical.alerts_inside || warning.alerts_inside) return false;
  double scale = 1;
  if (critical.in_percent != warning.in_percent) {
    if (!limit) return false;
    scale = static_cast<double>(*limit) / 100;
    if (!critical.in_percent) scale = 1 / scale;
  }
  // An open end is not a threshold, nor is the start of a range such as 80%, which begins at 0.
  return (!std::isinf(warning.end) && critical.end * scale < warning.end) ||
         (warning.start > 0 && critical.start * scale > warning.start);
}

bool alerts_only_above(const Range& range, std::int64_t limit) {
  const auto all = range.in_percent ? 100.0 : static_cast<double>(limit);
  if (range.alerts_inside) return range.start > all;
  return range.start <= 0 && range.end >= all && !std::isinf(range.end);
}

std::string range_text(const Range& range, std::optional<std::int64_t> limit) {
  if (range.in_percent && !limit) return {};
  const auto text = [&](double bound) {
    if (range.in_percent) bound = bound * static_cast<double>(*limit) / 100;
    auto number = fmt::format("{:.6f}", bound);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
    return number;
  };
  std::string out = range.alerts_inside ? "@" : "";
  if (std::isinf(range.start)) {
    out += "~:";
  } else if (range.start != 0 || std::isinf(range.end)) {
    out += text(range.start) + ":";
  }
  return std::isinf(range.end) ? out : out + text(range.end);
}

}  // namespace rlctl::cli::quota
