#include "cli/commands/quota/range.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli::quota {
namespace {

constexpr const char* kRangeHint =
    "a range is END, START:, START:END or ~:END, in units or with % after each number; "
    "@START:END alerts inside it";

class RangeParser {
 public:
  RangeParser(std::string_view text, std::string_view option) : text_(text), option_(option) {}

  [[nodiscard]] Range parse();

 private:
  [[nodiscard]] double bound(std::string_view text);
  [[noreturn]] void refuse(const std::string& what, const char* hint = "") const {
    throw UsageError(std::string(option_) + ": " + in_quotes(text_) + " " + what, hint);
  }

  std::string_view text_, option_;
  bool has_percent_ = false, has_units_ = false;
};

Range RangeParser::parse() {
  auto rest = text_;
  Range range;
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
    range.start = bound(start);
  }
  if (!end.empty()) range.end = bound(end);
  if (has_percent_ && has_units_) {
    refuse("has one end in percent and the other in units", "write % after both or neither");
  }
  if (range.start > range.end) refuse("starts above its end");
  range.in_percent = has_percent_;
  return range;
}

double RangeParser::bound(std::string_view text) {
  const auto number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  (number.size() < text.size() ? has_percent_ : has_units_) = true;
  const auto value = to_decimal(number);
  if (!value) refuse("is not a range: '" + escape(text, 40) + "' is not a number", kRangeHint);
  return *value;
}

/// A bound in units.
double in_units(const Range& range, double bound, std::int64_t limit) {
  return range.in_percent ? bound * static_cast<double>(limit) / 100 : bound;
}

}  // namespace

Range parse_range(std::string_view text, std::string_view option) {
  return RangeParser(text, option).parse();
}

std::optional<bool> alerts(const Range& range, std::int64_t used,
                           std::optional<std::int64_t> limit) {
  // Nothing used is 0 % of any limit.
  if (used == 0) limit = 1;
  if (range.in_percent && !limit) return std::nullopt;
  const auto scale = range.in_percent ? static_cast<double>(*limit) : 1;
  const auto value = static_cast<double>(used) * (range.in_percent ? 100 : 1);
  const bool is_inside = value >= range.start * scale && value <= range.end * scale;
  return is_inside == range.alerts_inside;
}

std::string range_text(const Range& range, std::optional<std::int64_t> limit) {
  if (range.in_percent && !limit) return {};
  const auto text = [&](double bound) {
    auto number = fmt::format("{:.6f}", in_units(range, bound, limit.value_or(0)));
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
