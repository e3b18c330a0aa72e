#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/error.h"
#include "base/text.h"

namespace rlctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// ---- Durations as they are typed ----

constexpr std::string_view kUnitNames = "us, ms, s, m, h or d";

struct Unit {
  std::string_view name;
  std::string_view also;  ///< a second spelling
  std::string_view full;  ///< the whole word
  microseconds length;
};

// Largest first, the order required in a duration.
constexpr std::array kUnits{
    Unit{"d", "d", "day", std::chrono::days{1}},
    Unit{"h", "hr", "hour", std::chrono::hours{1}},
    Unit{"m", "min", "minute", std::chrono::minutes{1}},
    Unit{"s", "sec", "second", std::chrono::seconds{1}},
    Unit{"ms", "ms", "millisecond", std::chrono::milliseconds{1}},
    Unit{"us", "us", "microsecond", microseconds{1}},
};

const Unit* find_unit(std::string_view name) {
  for (const std::string_view sign : {"\u00b5s", "\u03bcs"}) {  // a micro sign, a Greek letter
    if (name == sign) return &kUnits.back();
  }
  const auto plural_of = [&](std::string_view word) {
    return name.size() == word.size() + 1 && name.starts_with(word) && name.ends_with('s');
  };
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
    return name == u.name || name == u.also || name == u.full || plural_of(u.full) ||
           (u.also != u.name && plural_of(u.also));
  });
  return unit == kUnits.end() ? nullptr : unit;
}

std::string_view take_word(std::string_view& text) {
  const auto* end = std::find_if(text.begin(), text.end(), is_digit);
  const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

[[noreturn]] void unknown_unit(std::string_view whole, std::string_view unit) {
  if (unit.starts_with('.')) {
    throw UsageError(fmt::format("'{}' has a fraction; use whole numbers: 1h30m, 500ms", whole));
  }
  throw UsageError(fmt::format("'{}' has an unknown unit; use {}", whole, kUnitNames));
}

/// `whole` is the user's text, for messages; `text` is the duration in it.
microseconds parse_duration_in(std::string_view whole, std::string_view text) {
  microseconds sum{0};
  const Unit* last = nullptr;
  if (text.empty()) {
    throw UsageError(fmt::format("'{}' has no duration; write it like 60s or 1h30m", whole));
  }
  while (!text.empty()) {
    const auto digits = take_digits(text);
    const auto name = take_word(text);
    if (digits.empty()) {
      throw UsageError(fmt::format(
          "'{}' has a duration that begins without a number; write it like 60s or 1h30m", whole));
    }
    if (name.empty()) {
      throw UsageError(fmt::format("'{}' has no unit after {}; use {}", whole, digits, kUnitNames));
    }
    const Unit* unit = find_unit(name);
    if (unit == nullptr) unknown_unit(whole, name);
    if (last != nullptr && unit <= last) {
      throw UsageError(
          fmt::format("'{}' has its units out of order; largest first, each once", whole));
    }
    const auto most = (kLongestDuration - sum) / unit->length;
    const auto count = bounded_value(digits, most);
    if (count > most) {
      throw UsageError(fmt::format("'{}' is too long; it must be at most {}s", whole,
                                   kLongestDuration / seconds{1}));
    }
    sum += count * unit->length;
    last = unit;
  }
  return sum;
}

// ---- Instants ----

/// Reads the rest of a time; returns why that fails, or nothing.
std::string_view scan_zone(Scanner& scanner, bool is_required, minutes& east) {
  if (scanner.done()) return is_required ? "has no zone" : "";
  scanner.any_of(" ");
  if (!scanner.any_of("Zz") && !scanner.word("UTC") && !scanner.word("GMT")) {
    const bool is_west = scanner.any_of("-");
    if (!is_west && !scanner.any_of("+")) return "has no zone";
    if (!scanner.offset(east)) return "has an invalid time zone";
    if (is_west) east = -east;
  }
  return scanner.done() ? "" : "has extra text after its time zone";
}

// ---- Times as people read them ----

constexpr milliseconds kAllDigitsBelow{10};
constexpr minutes kSecondsBelow{10};
constexpr seconds kMinutesFrom = std::chrono::days{1};
constexpr seconds kDaysFrom = std::chrono::days{10};

/// Durations from 600 s.
std::string long_text(seconds duration) {
  const auto total = duration.count();
  const auto minute = total / 60 % 60;
  const auto hour = total / 3600 % 24;
  if (duration >= kMinutesFrom) return fmt::format("{}d{}h{}m", total / 86400, hour, minute);
  if (hour > 0) return fmt::format("{}h{}m{}s", hour, minute, total % 60);
  return fmt::format("{}m{}s", minute, total % 60);
}

/// Removes units of 0 at the end: "1h0m0s" becomes "1h".
std::string without_zeros(std::string text) {
  while (text.size() > 2 && text[text.size() - 2] == '0' && !is_digit(text[text.size() - 3])) {
    text.resize(text.size() - 2);
  }
  return text;
}

template <typename Unit>
Unit rounded(microseconds duration, Rounding rounding) {
  return rounding == Rounding::kDown ? std::chrono::floor<Unit>(duration)
                                     : std::chrono::ceil<Unit>(duration);
}

std::string thousandths(std::int64_t thousandths, std::string_view unit) {
  return fmt::format("{}.{:03} {}", thousandths / 1000, thousandths % 1000, unit);
}

}  // namespace

microseconds parse_duration(std::string_view text) {
  return parse_duration_in(text, text);
}

std::string format_duration(microseconds duration) {
  if (duration == microseconds{0}) return "0s";
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
    // One minute keeps the notation under which its key is stored.
    return duration % u.length == microseconds{0} &&
           (u.length != minutes{1} || duration != minutes{1});
  });
  return fmt::format("{}{}", duration / unit->length, unit->name);
}

microseconds parse_period(std::string_view whole, std::string_view text) {
  if (text.empty() || is_digit(text.front())) return parse_duration_in(whole, text);
  const Unit* unit = find_unit(text);
  if (unit == nullptr) unknown_unit(whole, text);
  return unit->length;
}

microseconds system_time() {
  return std::chrono::duration_cast<microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

IsoTime read_iso(std::string_view text, IsoSource source) {
  constexpr std::size_t kDecimals = 6;
  const bool is_typed = source == IsoSource::kTyped;
  Scanner scanner(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  std::int64_t us = 0;
  if (!scanner.number(4, year)) return {.why = "is not a time"};
  const std::string_view dash = scanner.any_of("-") ? "-" : scanner.any_of("/") ? "/" : "";
  const auto separated = [&](std::string_view by) { return dash.empty() || scanner.any_of(by); };
  if (!(scanner.number(2, month) && separated(dash) && scanner.number(2, day))) {
    return {.why = "is not a time"};
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return {.why = "has an invalid date"};
  if (!(scanner.any_of("Tt ") && scanner.number(2, hour) && separated(":") &&
        scanner.number(2, minute))) {
    return {.why = "has no time of day"};
  }
  if (dash.empty() ? scanner.at_digit() : scanner.any_of(":")) {
    if (!scanner.number(2, second)) return {.why = "has no seconds after ':'"};
    if (scanner.any_of(".,")) {
      const auto decimals = scanner.fraction(kDecimals, us);
      if (decimals == 0) return {.why = "has no digits after '.'"};
      if (is_typed && decimals > kDecimals) return {.why = "has more than six decimals"};
    }
    if (is_typed && scanner.at_digit()) return {.why = "has more than two digits of seconds"};
  }
  if (hour > 23 || minute > 59 || second > 60) return {.why = "has an invalid time of day"};
  minutes east{0};
  if (const auto why = scan_zone(scanner, is_typed, east); !why.empty()) return {.why = why};
  return {.at = std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{hour} +
                minutes{minute} + seconds{second} + microseconds{us} - east};
}

microseconds parse_instant(std::string_view text) {
  const auto [at, why] = is_digits(text)
                             ? IsoTime{.at = microseconds{parse_whole(text, "the time")}}
                             : read_iso(text, IsoSource::kTyped);
  if (!at) {
    throw UsageError(
        fmt::format("'{}' {}; write whole microseconds since 1970, or ISO 8601 with a zone such as "
                    "2026-11-20T06:11:15.155201Z",
                    text, why));
  }
  if (*at < microseconds{0} || *at > kLatestInstant) {
    throw UsageError(fmt::format("'{}' is out of range; it must be from 1970 to {} ({} us)", text,
                                 format_instant(kLatestInstant), kLatestInstant.count()));
  }
  return *at;
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

std::string decimal_seconds(microseconds time) {
  constexpr microseconds kSecond = seconds{1};
  auto text = fmt::format("{}.{:06}", time / kSecond, (time % kSecond).count());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

seconds whole_seconds(microseconds duration) {
  return std::chrono::ceil<seconds>(std::max(duration, microseconds{0}));
}

std::string wait_text(microseconds duration, Rounding rounding) {
  duration = std::max(duration, microseconds{0});
  const auto ms = rounded<milliseconds>(duration, rounding);
  if (rounding == Rounding::kTenths && ms < kSecondsBelow) {
    return fmt::format("{}.{} s", ms.count() / 1000, ms.count() / 100 % 10);
  }
  if (duration.count() > 0 && duration < kAllDigitsBelow) {
    return thousandths(duration.count(), "ms");
  }
  if (ms < kSecondsBelow) return thousandths(ms.count(), "s");
  const auto whole = rounded<seconds>(duration, rounding);
  return long_text(whole < kMinutesFrom ? whole : rounded<minutes>(duration, rounding));
}

std::string period_text(microseconds period) {
  std::string text = format_duration(period);
  const auto unit = text.find_first_not_of("0123456789");
  if (unit == text.npos) return text;
  if (text.compare(unit, text.npos, "m") == 0) text += "in";
  if (text.compare(unit, text.npos, "us") == 0) text.replace(unit, text.npos, "µs");
  return text.insert(unit, 1, ' ');
}

std::string span_text(microseconds span) {
  const auto count = static_cast<double>(span.count());
  if (span < milliseconds{1}) return fmt::format("{} µs", span.count());
  if (span < seconds{1}) return fmt::format("{:.4g} ms", count / 1e3);
  if (span < kSecondsBelow) return fmt::format("{:.4g} s", count / 1e6);
  if (span < kMinutesFrom) return without_zeros(long_text(std::chrono::round<seconds>(span)));
  if (span < kDaysFrom)
    return without_zeros(long_text(std::chrono::round<std::chrono::hours>(span)));
  return without_zeros(long_text(std::chrono::round<std::chrono::days>(span)));
}

std::string latency_text(std::chrono::nanoseconds duration) {
  const auto three_digits = [](double value, std::string_view unit) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, unit);
  };
  const auto us = static_cast<double>(duration.count()) / 1e3;
  if (us < 999.5) return three_digits(us, "µs");
  if (us < 999.5e3) return three_digits(us / 1e3, "ms");
  return three_digits(us / 1e6, "s");
}

std::string offset_text(microseconds offset) {
  if (offset.count() == 0) return "0";
  return (offset.count() < 0 ? "-" : "+") + span_text(std::chrono::abs(offset));
}

std::string instant_text(microseconds instant) {
  constexpr std::string_view kNoDecimals = ".000000Z";
  std::string text = format_instant(instant);
  if (text.ends_with(kNoDecimals)) text.replace(text.size() - kNoDecimals.size(), text.npos, "Z");
  return text;
}

std::string local_time_text(microseconds instant, microseconds now) {
  const auto local = [](microseconds time) {
    const std::time_t at = std::chrono::floor<seconds>(time).count();
    std::tm fields{};
    ::localtime_r(&at, &fields);
    return fields;
  };
  const auto then = local(instant);
  const auto today = local(now);
  auto text = fmt::format("{:02}:{:02}:{:02}", then.tm_hour, then.tm_min, then.tm_sec);
  if (then.tm_year == today.tm_year && then.tm_yday == today.tm_yday) return text;
  return fmt::format("{:04}-{:02}-{:02} {}", then.tm_year + 1900, then.tm_mon + 1, then.tm_mday,
                     text);
}

}  // namespace rlctl
