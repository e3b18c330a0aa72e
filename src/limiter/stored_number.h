#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace rlctl::limiter {

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
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (text[0] == '-' || parsed.ptr != end || parsed.ec != std::errc()) return std::nullopt;
  return number > most ? std::nullopt : std::optional(number);
}

/// Parses a number with an optional fraction and exponent.
[[nodiscard]] inline std::optional<double> parse_real(std::string_view text) {
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ptr != end || parsed.ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace rlctl::limiter
