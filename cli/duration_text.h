#pragma once

#include <chrono>
#include <string>

namespace rlctl::cli {

// Times as a person reads them; programs get µs.

/// How long until something: "12.041 s", rounded up to ms; below 10 ms all digits, "4.250 ms"; from
/// ten minutes on "1h2m3s", from a day on "3d4h5m", rounded up to the last unit. Not below 0.
[[nodiscard]] std::string wait_text(std::chrono::microseconds duration);
/// How long since something: the same, rounded down.
[[nodiscard]] std::string age_text(std::chrono::microseconds duration);
/// "47.959 s ago", "now", or of an instant to come "in 3.200 s".
[[nodiscard]] std::string when_text(std::chrono::microseconds instant,
                                    std::chrono::microseconds now);
/// A TTL, which is about memory: tenths of a second, "59.3 s", and as wait_text() else.
[[nodiscard]] std::string ttl_text(std::chrono::microseconds ttl);
/// A window or an interval in one unit: "60 s", "90 min", "1500 ms", "30 d".
[[nodiscard]] std::string period_text(std::chrono::microseconds period);
/// How long something lasted, in four digits: "250 us", "19.99 ms", "1.5 s", "12m34s".
[[nodiscard]] std::string span_text(std::chrono::microseconds span);
/// What was timed, in the three digits that are known of it: "87.3 us", "1.25 ms", "12.0 s".
[[nodiscard]] std::string latency_text(std::chrono::nanoseconds duration);
/// How far from some origin: "0", "+10 ms", "-10 ms".
[[nodiscard]] std::string offset_text(std::chrono::microseconds offset);
/// As limiter::format_instant(), without the decimals of a whole second: "2026-11-20T06:11:15Z".
[[nodiscard]] std::string instant_text(std::chrono::microseconds instant);

}  // namespace rlctl::cli
