#include "replay/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::replay {
namespace {

using std::chrono::seconds;

constexpr microseconds kTooLate = microseconds::max();

/// 1 to 12, or 0. Names are English, as in every server, in any case.
int month_number(std::string_view name) {
  constexpr std::string_view kMonths = "janfebmaraprmayjunjulaugsepoctnovdec";
  if (name.size() != 3) return 0;
  char lower[3];
  std::transform(name.begin(), name.end(), lower,
                 [](char c) { return static_cast<char>(c | 0x20); });
  for (std::size_t at = 0; at < kMonths.size(); at += 3) {
    if (kMonths.substr(at, 3) == std::string_view(lower, 3)) return static_cast<int>(at / 3) + 1;
  }
  return 0;
}

/// 10/Oct/2000:13:55:36 -0700, which is ISO 8601 but for the date; with blanks or dashes, too.
std::optional<microseconds> read_common(std::string_view text) {
  Scanner scanner(text);
  const auto day = scanner.take(2);
  if (!scanner.any_of("/ -")) return std::nullopt;
  const auto month = scanner.take(3);
  if (!scanner.any_of("/ -")) return std::nullopt;
  const auto year = scanner.take(4);
  if (!scanner.any_of(": ")) return std::nullopt;
  const auto iso =
      fmt::format("{}-{:02}-{:0>2}T{}", year, month_number(month), day, scanner.take(text.size()));
  return read_iso(iso, IsoSource::kLogged).at;
}

/// The decimal places from a unit to µs: seconds 6, ns -3.
int places_of(EpochUnit unit, std::int64_t whole) {
  switch (unit) {
    case EpochUnit::kMilliseconds:
      return 3;
    case EpochUnit::kMicroseconds:
      return 0;
    case EpochUnit::kNanoseconds:
      return -3;
    case EpochUnit::kByMagnitude:
      break;
  }
  constexpr std::int64_t kMilliseconds = 100'000'000'000;  // from this value
  if (whole < kMilliseconds) return 6;
  if (whole < kMilliseconds * 1'000) return 3;
  return whole < kMilliseconds * 1'000'000 ? 0 : -3;
}

/// Takes decimal digits; returns the largest number if there are too many.
std::int64_t scan_whole(Scanner& scanner) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  std::int64_t whole = 0;
  int digit = 0;
  while (scanner.number(1, digit)) {
    whole = whole > (kMax - digit) / 10 ? kMax : whole * 10 + digit;
  }
  return whole;
}

/// Rewrites a number with an exponent, as in JSON: 1.7e9 is 1700000000. Returns none for anything
/// else.
std::optional<std::string> without_exponent(std::string_view text) {
  constexpr int kMax = 30;
  const auto at = text.find_first_of("eE");
  if (at == text.npos || text.find_first_not_of("0123456789.") != at) return std::nullopt;
  if (at == 0 || !is_digit(text[0])) return std::nullopt;
  auto power = text.substr(at + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  const auto exponent = to_number<int>(power);
  if (!exponent || *exponent < 0 || *exponent > kMax) return std::nullopt;
  std::string digits(text.substr(0, at));
  auto point = std::min(digits.find('.'), digits.size());
  if (point < digits.size()) digits.erase(point, 1);
  point += static_cast<std::size_t>(*exponent);
  if (digits.size() <= point) {
    digits.append(point - digits.size(), '0');
  } else {
    digits.insert(point, 1, '.');
  }
  return digits;
}

std::optional<microseconds> read_number(std::string_view text, EpochUnit unit) {
  Scanner scanner(text);
  const bool negative = scanner.any_of("-");
  if (!scanner.at_digit()) return std::nullopt;
  std::int64_t whole = scan_whole(scanner);
  const int places = places_of(unit, whole);
  std::int64_t fraction = 0;
  if (scanner.any_of(".,") && scanner.fraction(std::max(places, 0), fraction) == 0) {
    return std::nullopt;
  }
  if (!scanner.done()) return std::nullopt;
  for (int i = 0; i > places; --i) whole /= 10;
  for (int i = 0; i < places; ++i) {
    if (whole > kTooLate.count() / 10) return negative ? microseconds::min() : kTooLate;
    whole *= 10;
  }
  if (whole > kTooLate.count() - fraction) return negative ? microseconds::min() : kTooLate;
  return microseconds{negative ? -(whole + fraction) : whole + fraction};
}

}  // namespace

EpochUnit epoch_unit_of(std::string_view field) noexcept {
  if (field.ends_with("_ms")) return EpochUnit::kMilliseconds;
  if (field.ends_with("_us")) return EpochUnit::kMicroseconds;
  if (field.ends_with("_ns")) return EpochUnit::kNanoseconds;
  return EpochUnit::kByMagnitude;
}

bool TimeReader::has_same_minute(std::string_view text) const noexcept {
  constexpr std::size_t kMinute = sizeof("10/Oct/2000:13:55:") - 1;
  constexpr std::size_t kZone = kMinute + 2;
  return std::memcmp(text.data(), last_.data(), kMinute) == 0 &&
         std::memcmp(text.data() + kZone, last_.data() + kZone, kCommonSize - kZone) == 0;
}

std::optional<microseconds> TimeReader::read(std::string_view text) {
  const bool of_common_size = text.size() == kCommonSize && text[2] == '/';
  if (of_common_size && has_same_minute(text)) {
    const char tens = text[18];
    const char ones = text[19];
    if (tens >= '0' && tens <= '5' && is_digit(ones)) {
      return last_minute_ + seconds{(tens - '0') * 10 + (ones - '0')};
    }
  }
  if (of_common_size) {
    const auto instant = read_common(text);
    if (!instant) return std::nullopt;
    std::copy(text.begin(), text.end(), last_.begin());
    last_minute_ = *instant - seconds{(text[18] - '0') * 10 + (text[19] - '0')};
    return instant;
  }
  if (text.size() > 4 && !is_digit(text[3]) && is_digit(text[0])) {
    if (const auto common = read_common(text)) return common;
  }
  if (const auto number = read_number(text, unit_)) return number;
  if (const auto plain = without_exponent(text)) return read_number(*plain, unit_);
  return read_iso(text, IsoSource::kLogged).at;
}

}  // namespace rlctl::replay
