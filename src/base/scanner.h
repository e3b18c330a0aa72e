#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace rlctl {

/// Reads a text from its front. Each step returns whether it found what it expects; if not, a step
/// that expects a single thing consumes nothing.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool any_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == characters.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// Exactly `digits` decimal digits.
  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    int read = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return false;
      read = read * 10 + (rest_[i] - '0');
    }
    value = read;
    rest_.remove_prefix(digits);
    return true;
  }

  /// Takes all digits and returns how many there are. The first `places` form the value: "1" with 3
  /// places is 100.
  std::size_t fraction(int places, std::int64_t& value) {
    value = 0;
    const auto digits = take_digits(rest_);
    for (const char digit : digits) {
      if (places-- > 0) value = value * 10 + (digit - '0');
    }
    for (; places > 0; --places) value *= 10;
    return digits.size();
  }

  /// Takes the rest of the text, an offset from UTC without its sign: hh, hhmm or hh:mm.
  bool offset(std::chrono::minutes& value) {
    int hours = 0;
    int minutes = 0;
    if (!number(2, hours)) return false;
    if (!done()) {
      any_of(":");
      if (!number(2, minutes)) return false;
    }
    value = std::chrono::hours{hours} + std::chrono::minutes{minutes};
    return hours <= 23 && minutes <= 59;
  }

  [[nodiscard]] bool at_digit() const { return !rest_.empty() && is_digit(rest_.front()); }
  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] std::string_view take(std::size_t size) {
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace rlctl
