#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace rlctl::cli {

// What options of several commands take. All throw UsageError, which names the option.

/// A whole number from `least` to `most`.
[[nodiscard]] std::int64_t parse_between(const std::string& text, std::string_view option,
                                         std::int64_t least, std::int64_t most);
/// A duration with its unit: "90s", "1h30m".
[[nodiscard]] std::chrono::microseconds parse_time(const std::string& text,
                                                   std::string_view option);
/// What --now says, in µs since 1970. Throws UsageError, also for what is seconds or milliseconds:
/// `date +%s` is what people have at hand, and taken for µs it is a time in January 1970.
[[nodiscard]] std::chrono::microseconds parse_now(const std::string& text);

}  // namespace rlctl::cli
