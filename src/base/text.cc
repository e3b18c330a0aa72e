#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace rlctl {

namespace {

void append_escaped(std::string& out, unsigned char byte) {
  switch (byte) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  if (byte < 0x20 || byte == 0x7f) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
  } else {
    out += static_cast<char>(byte);
  }
}

/// Where "unix:" begins, in any case, as a URL may write it.
std::size_t find_unix(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  const auto found = std::search(text.begin(), text.end(), kUnix.begin(), kUnix.end(), same);
  return found == text.end() ? text.npos : static_cast<std::size_t>(found - text.begin());
}

/// Behind the first "scheme://" or "unix:"; npos where there is none.
std::size_t end_of_scheme(std::string_view text) {
  const auto slashes = text.find("://");
  const auto unix = find_unix(text);
  if (unix < slashes && unix + 4 != slashes) return unix + 5;
  return slashes == text.npos ? text.npos : slashes + 3;
}

}  // namespace

std::string escape(std::string_view bytes, std::size_t limit) {
  std::string out;
  for (const char byte : bytes.substr(0, limit)) {
    append_escaped(out, static_cast<unsigned char>(byte));
  }
  if (bytes.size() > limit) out += "...";
  return out;
}

std::string without_initial_capital(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

std::string errno_text(int error) {
  return without_initial_capital(std::generic_category().message(error));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

/// The value of decimal digits, or `most` + 1 where that is less: never overflows. Octal is no
/// such thing here: 07 is 7.
std::int64_t bounded_value(std::string_view digits, std::int64_t most) {
  std::int64_t value = 0;
  for (const char c : digits) {
    if (value > (most - (c - '0')) / 10) return most + 1;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::int64_t parse_whole(std::string_view text, std::string_view what) {
  constexpr std::int64_t kMost = INT64_MAX - 1;
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const auto digits = take_digits(rest);
  if (digits.empty() || !rest.empty()) {
    throw UsageError(
        fmt::format("{} must be a whole number in decimal digits, not '{}'", what, text));
  }
  const auto value = bounded_value(digits, kMost);
  if (value > kMost) throw UsageError(fmt::format("{} is out of range: '{}'", what, text));
  return negative ? -value : value;
}

void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

void mask_passwords(char* text, std::size_t size) {
  const std::string_view view(text, size);
  const auto begin = end_of_scheme(view);
  const auto last_at = view.rfind('@');
  if (begin == view.npos || last_at == view.npos || last_at <= begin) return;
  std::memset(text + begin, '*', last_at - begin);
}

std::string masked(std::string text) {
  mask_passwords(text.data(), text.size());
  return text;
}

std::string in_quotes(std::string_view argument) {
  return std::string("'").append(masked(std::string(argument))).append("'");
}

}  // namespace rlctl
