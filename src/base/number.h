#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

// Numbers: products of 128 bits, which the models of the limiters compute with, conversions to
// double, and numbers from and to text. base/text.h includes this, and has the parsers that explain
// what is wrong with a number.

namespace rlctl {

/// Holds the product of any two std::int64_t.
__extension__ typedef __int128 Wide;

constexpr double as_double(std::int64_t value) {
  return static_cast<double>(value);
}
/// The number of microseconds.
constexpr double as_double(std::chrono::microseconds value) {
  return static_cast<double>(value.count());
}

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The number that is the whole text, as std::from_chars() reads it; std::nullopt if it is
/// something else or does not fit. `format` is the base of a whole number, or a std::chars_format.
template <typename Number, typename... Format>
std::optional<Number> to_number(std::string_view text, Format... format) noexcept {
  Number number{};
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, format...);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

/// Appends decimal digits.
inline void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

}  // namespace rlctl
