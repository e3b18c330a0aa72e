#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::state {

// How numbers in limiter state are parsed.

/// The present in a wide sense: µs from 2010 to 2039. Limiters store present times, and a list of
/// other numbers may be anything. (Sixteen-digit bank card numbers are larger.)
[[nodiscard]] constexpr bool is_of_today(double us) {
  constexpr double kFirst = 1'262'304'000'000'000, kLast = 2'200'000'000'000'000;
  return us >= kFirst && us <= kLast;
}
[[nodiscard]] constexpr bool is_of_today(std::int64_t us) {
  return is_of_today(static_cast<double>(us));
}

/// Parses up to 19 decimal digits; leading zeros only if `width` gives the number of digits.
[[nodiscard]] inline std::optional<std::int64_t> parse_number(std::string_view text,
                                                              std::int64_t most,
                                                              std::size_t width = 0) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  if (width > 0 ? text.size() != width : (text.size() > 1 && text[0] == '0')) return std::nullopt;
  const auto number = to_number<std::int64_t>(text);
  return text[0] == '-' || !number || *number > most ? std::nullopt : number;
}

/// The most windows that there can have been since 1970: they are no shorter than a ms.
inline constexpr std::int64_t kMaxWindows = kLatestInstant / std::chrono::milliseconds{1};

/// A key's name that ends in a colon and a number: "a:17" is "a" and 17.
struct NumberedName {
  std::string_view name;
  std::int64_t number = 0;  ///< 0 to kMaxWindows
};

[[nodiscard]] inline std::optional<NumberedName> parse_numbered(std::string_view key) {
  const auto colon = key.rfind(':');
  if (colon == key.npos) return std::nullopt;
  const auto number = parse_number(key.substr(colon + 1), kMaxWindows);
  if (!number) return std::nullopt;
  return NumberedName{.name = key.substr(0, colon), .number = *number};
}

}  // namespace rlctl::state
