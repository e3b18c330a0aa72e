#include <fmt/format.h>

#include <chrono>

#include "limiter/limit.h"

namespace rlctl::limiter {
namespace {

constexpr microseconds kLatest{4'000'000'000'000'000};

/// Reads a text from its front; every step says whether it found what it was asked for.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool literal(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Exactly `digits` decimal digits.
  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return false;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }

  /// One to six digits behind the point, in µs.
  bool fraction(int& us) {
    us = 0;
    int scale = 1'000'000;
    int digit = 0;
    while (scale > 1 && number(1, digit)) {
      scale /= 10;
      us += digit * scale;
    }
    return scale < 1'000'000;
  }

  [[nodiscard]] bool at_digit() const {
    return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

[[noreturn]] void not_an_instant(std::string_view text, std::string_view why) {
  throw UsageError(
      fmt::format("'{}' {}; write whole microseconds since 1970, or ISO 8601 with a zone such as "
                  "2026-11-20T06:11:15.155201Z",
                  text, why));
}

std::chrono::sys_days scan_date(Scanner& scanner, std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!(scanner.number(4, year) && scanner.literal('-') && scanner.number(2, month) &&
        scanner.literal('-') && scanner.number(2, day))) {
    not_an_instant(text, "is not a time");
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) not_an_instant(text, "has a day that no calendar has");
  return date;
}

microseconds scan_time_of_day(Scanner& scanner, std::string_view text) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int us = 0;
  if (!(scanner.number(2, hour) && scanner.literal(':') && scanner.number(2, minute))) {
    not_an_instant(text, "has no time of day");
  }
  if (scanner.literal(':')) {
    if (!scanner.number(2, second)) not_an_instant(text, "has no seconds after ':'");
    if (scanner.literal('.') && !scanner.fraction(us)) {
      not_an_instant(text, "has no digits after '.'");
    }
    if (scanner.at_digit()) not_an_instant(text, "has more than six decimals");
  }
  if (hour > 23 || minute > 59 || second > 59) {
    not_an_instant(text, "has a time of day that no clock shows");
  }
  return std::chrono::hours{hour} + std::chrono::minutes{minute} + std::chrono::seconds{second} +
         microseconds{us};
}

/// Z, +01:00, +0100 or +01.
std::chrono::minutes scan_zone(Scanner& scanner, std::string_view text) {
  if (scanner.literal('Z')) return {};
  const bool east = scanner.literal('+');
  if (!east && !scanner.literal('-')) not_an_instant(text, "has no zone");
  int hours = 0;
  int minutes = 0;
  bool read = scanner.number(2, hours);
  if (read && !scanner.done()) {
    scanner.literal(':');
    read = scanner.number(2, minutes);
  }
  if (!read || hours > 23 || minutes > 59) not_an_instant(text, "has no such zone");
  const auto offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return east ? offset : -offset;
}

microseconds parse_iso(std::string_view text) {
  Scanner scanner(text);
  const auto date = scan_date(scanner, text);
  if (!scanner.literal('T') && !scanner.literal(' ')) not_an_instant(text, "has no time of day");
  const auto time = scan_time_of_day(scanner, text);
  const auto zone = scan_zone(scanner, text);
  if (!scanner.done()) not_an_instant(text, "goes on after its zone");
  return date.time_since_epoch() + time - zone;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

microseconds parse_instant(std::string_view text) {
  const auto instant =
      is_number(text) ? microseconds{parse_whole(text, "the time")} : parse_iso(text);
  if (instant < microseconds{0} || instant > kLatest) {
    throw UsageError(fmt::format("'{}' is out of range; from 1970 to {} ({} us) is accepted", text,
                                 format_instant(kLatest), kLatest.count()));
  }
  return instant;
}

std::string format_instant(microseconds instant) {
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date{std::chrono::sys_days{day}};
  const std::chrono::hh_mm_ss time{instant - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

}  // namespace rlctl::limiter
