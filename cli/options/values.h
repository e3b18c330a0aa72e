#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace rlctl::cli {

// Texts of options that several commands have.

inline constexpr std::string_view kNowHelp =
    "use this time, not the server's clock (microseconds since 1970, or ISO 8601 with a zone)";
/// Why an option that waits excludes --now.
inline constexpr std::string_view kNowFixesTheClock = "--now fixes the clock";
inline constexpr std::string_view kCostHelp =
    "units to take (default: 1); 0 takes nothing, a negative number gives back";
inline constexpr std::string_view kQuietHelp = "print no results, only set the exit status";

// Refusals, as UsageError.

/// Refuses an empty text, which a shell makes of a variable that is not set: "WHAT is empty".
void require_not_empty(std::string_view text, const std::string& what);
/// Refuses operands beyond the first `most`.
void require_at_most(std::size_t most, std::span<const std::string> operands,
                     std::string hint = {});
/// Refuses a word that is none of `names`: the message, then the name that may be meant; the hint
/// lists all.
[[noreturn]] void refuse_word(const std::string& message, std::string_view word,
                              std::span<const std::string_view> names);
/// The row of a table whose `name` is this word. If there is none, the word is refused: `unknown`
/// says of what, such as "--sort: unknown order".
template <typename Rows>
const auto& find_named(const Rows& rows, std::string_view word, std::string_view unknown) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) {
    if (row.name == word) return row;
    names.push_back(row.name);
  }
  refuse_word(fmt::format("{} {}", unknown, in_quotes(word)), word, names);
}

// Parsers for values that several commands have. All throw UsageError, which names the option.

/// Parses a whole number from `least` to `most`.
[[nodiscard]] std::int64_t parse_between(const std::string& text, std::string_view option,
                                         std::int64_t least, std::int64_t most);
/// A parser for into(): a whole number from `least` to `most`.
[[nodiscard]] inline auto number_between(std::string_view option, std::int64_t least,
                                         std::int64_t most) {
  return [=](const std::string& text) { return parse_between(text, option, least, most); };
}
/// Parses a duration with a unit: "90s", "1h30m".
[[nodiscard]] std::chrono::microseconds parse_duration_of(const std::string& text,
                                                          std::string_view option);
/// A parser for into(): a duration with a unit.
[[nodiscard]] inline auto duration_of(std::string_view option) {
  return [=](const std::string& text) { return parse_duration_of(text, option); };
}
/// Whether parse_duration_of() accepts the text.
[[nodiscard]] bool is_duration(const std::string& text);
/// Parses the value of --cost, a whole number that may be negative.
[[nodiscard]] std::int64_t parse_cost(const std::string& text);
/// Parses a time, in µs since 1970. Refuses a number that looks like seconds or milliseconds, such
/// as the output of `date +%s`, which would mean January 1970.
[[nodiscard]] std::chrono::microseconds parse_time_of(const std::string& text,
                                                      std::string_view option);
/// Parses the value of --now, a time.
[[nodiscard]] std::chrono::microseconds parse_now(const std::string& text);

}  // namespace rlctl::cli
