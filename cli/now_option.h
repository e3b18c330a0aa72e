#pragma once

#include <chrono>
#include <string>

namespace rlctl::cli {

/// What --now says, in µs since 1970. Throws UsageError, also for what is seconds or milliseconds:
/// `date +%s` is what people have at hand, and taken for µs it is a time in January 1970.
[[nodiscard]] std::chrono::microseconds parse_now(const std::string& text);

/// Now, by this machine's clock, in µs since 1970.
[[nodiscard]] std::chrono::microseconds system_time();

}  // namespace rlctl::cli
