#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

// Durations and instants, in whole microseconds: parsed as users type them in options and
// configurations and as programs write them into logs, and formatted for reports that people read.
// The reports of cli/commands/ choose the format that suits what a time means: a wait, a window, a
// span, a latency.

namespace rlctl {

using std::chrono::microseconds;

/// The longest accepted duration, and so the longest window.
inline constexpr microseconds kLongestDuration{100'000'000'000'000};
/// The latest accepted instant, since 1970.
inline constexpr microseconds kLatestInstant{4'000'000'000'000'000};

/// This machine's current time, since 1970.
microseconds system_time();

// ---- Durations ----

/// "60s", "1h30m", "250ms", "10us" or "10µs", "7d": whole numbers with units, largest first, each
/// at most once. A number without a unit is an error, and so is more than kLongestDuration; 0s is
/// valid. Throws UsageError.
microseconds parse_duration(std::string_view text);
/// Like parse_duration(), but a unit without a number counts once: "s", "min". `whole` is the text
/// that contains the period, for messages.
microseconds parse_period(std::string_view whole, std::string_view text);
/// In the largest unit that gives a whole number: "90m", "1500ms", "2m"; but one minute is "60s".
std::string format_duration(microseconds duration);

// ---- Instants ----

/// Who wrote a time: a user, exactly, with a zone and at most six decimals; or a program in a log,
/// perhaps without a zone, which means UTC, and with finer digits, which are cut off.
enum class IsoSource { kTyped, kLogged };
struct IsoTime {
  std::optional<microseconds> at = {};  ///< since 1970
  std::string_view why = {};            ///< why there is no instant: "has no zone"
};
/// Reads ISO 8601 and RFC 3339: `2000-10-10T13:55:36.123-07:00`; the T may be a blank, the point a
/// comma, the zone Z, UTC, GMT, ±hh:mm, ±hhmm or ±hh, optionally after a blank; seconds may be
/// omitted; the date may have slashes, or everything no separators: `20001010T135536Z`. A leap
/// second is the following second.
IsoTime read_iso(std::string_view text, IsoSource source);

/// An instant since 1970: a whole number of µs, or ISO 8601 with a zone
/// ("2026-11-20T06:11:15.155201Z", "2026-11-20T07:11+01:00"). 0 to kLatestInstant. Throws
/// UsageError.
microseconds parse_instant(std::string_view text);
/// ISO 8601, UTC, six decimals.
std::string format_instant(microseconds instant);

/// Seconds with as many decimals as needed: "60", "0.25". Not below 0.
std::string decimal_seconds(microseconds time);
/// Rounded up to whole seconds, at least 0.
std::chrono::seconds whole_seconds(microseconds duration);

// ---- Times for people; programs get µs ----

// In UTF-8: cli/terminal/terminal.h has without_micro_sign().

/// Up for the time until something, down for the time since something; to tenths of a second for a
/// TTL, which only concerns memory.
enum class Rounding { kUp, kDown, kTenths };
/// "12.041 s", rounded to ms; below 10 ms with all digits, "4.250 ms"; from ten minutes "1h2m3s",
/// from a day "3d4h5m", rounded to the last unit. Never below 0. In tenths "59.3 s", from ten
/// minutes rounded up.
std::string wait_text(microseconds duration, Rounding rounding = Rounding::kUp);
/// A window or an interval in one unit: "60 s", "90 min", "1500 ms", "30 d".
std::string period_text(microseconds period);
/// How long something lasted, to four digits: "250 µs", "19.99 ms", "1.5 s"; from ten minutes to
/// the second, "12m34s", "2h", from a day to the hour, "3d4h", and from ten days to the day,
/// "1157d".
std::string span_text(microseconds span);
/// A measured duration, to three significant digits: "87.3 µs", "1.25 ms", "12.0 s".
std::string latency_text(std::chrono::nanoseconds duration);
/// The distance from an origin: "0", "+10 ms", "-10 ms".
std::string offset_text(microseconds offset);
/// As format_instant(), without the decimals of a whole second: "2026-11-20T06:11:15Z".
std::string instant_text(microseconds instant);
/// The instant by the clock of this machine's zone, in seconds: "09:30:04", or, if `now` is on
/// another day, "2026-11-02 09:30:04".
std::string local_time_text(microseconds instant, microseconds now);

}  // namespace rlctl
