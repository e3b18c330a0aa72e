#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace rlctl {

// ---- UTF-8 and escaping ----

/// The bytes of the UTF-8 character at the start of `text`; 0 if there is none (RFC 3629).
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// The character of several bytes at the start of `text` if a terminal may interpret it: a C1
/// control character, one that changes the direction of the text, or a line or paragraph separator.
/// Else 0.
[[nodiscard]] char32_t control_character_at(std::string_view text) noexcept;

// Keys, members, replies and arguments are data: whatever a terminal or a line parser would
// interpret is escaped as \n, \r, \t or \xNN.

/// For `word key=value` lines: also escapes blanks, backslashes and bytes that are not UTF-8, so
/// that a value is one word and can be read back.
[[nodiscard]] std::string escaped_text(std::string_view text);
/// For messages on stderr: escapes control characters and bytes that are not UTF-8.
[[nodiscard]] std::string escaped_message(std::string_view text);
/// For a part of a message that will be escaped again as a whole: escapes control bytes and
/// backslashes. Text longer than `limit` bytes is cut and ends in "...".
[[nodiscard]] std::string escape(std::string_view bytes,
                                 std::size_t limit = std::string_view::npos);

// ---- Numbers ----

/// A finite number without an exponent that is the whole text: "87.5".
[[nodiscard]] std::optional<double> to_decimal(std::string_view text) noexcept;
/// Parses decimal digits with an optional minus sign. Throws UsageError naming `what`.
[[nodiscard]] std::int64_t parse_whole(std::string_view text, std::string_view what);
/// The value of decimal digits, or `most` + 1 if that is less; never overflows. A leading zero does
/// not mean octal: 07 is 7.
[[nodiscard]] std::int64_t bounded_value(std::string_view digits, std::int64_t most);
/// Whether the text consists of decimal digits, at least one.
[[nodiscard]] bool is_digits(std::string_view text) noexcept;
[[nodiscard]] char lower_case(char c) noexcept;
[[nodiscard]] std::string lower_case(std::string_view text);
/// Removes the digits at the front of `text` and returns them.
[[nodiscard]] std::string_view take_digits(std::string_view& text);

/// At least one part, which may be empty.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view list);

// ---- Words and sentences ----

/// "1 key", "2 keys": `noun` is a singular whose plural adds an s.
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);
/// "10,518,299"
[[nodiscard]] std::string grouped(std::int64_t count);
/// The plural ending for `count` items: "" or "s".
template <std::integral Integer>
[[nodiscard]] constexpr std::string_view plural(Integer count) {
  return count == 1 ? "" : "s";
}

/// A system message as part of one of rlctl's: lower-cases its first letter, but leaves "I/O error"
/// alone.
[[nodiscard]] std::string without_initial_capital(std::string text);
/// The text of an errno, in lower case: "connection refused".
[[nodiscard]] std::string errno_text(int error);

/// Up to three decimals, without trailing zeros: "3.25", "3". Rounded down, so that 0.9996 of a
/// token does not show as a whole one.
[[nodiscard]] std::string amount_text(double amount);
/// Whether `text` contains `word` in any case; `word` is in lower case.
[[nodiscard]] bool contains_in_any_case(std::string_view text, std::string_view word);

/// Replaces everything between the first "scheme://" or "unix:" and the last "@" with asterisks, in
/// place, since a password may contain any character. This may mask text that is not a URL, but
/// leaves no password.
void mask_passwords(char* text, std::size_t size);
/// A masked copy. Mask an argument before it enters a message, where it may be shortened or
/// followed by words with an "@". Whole messages are masked again as a safeguard.
[[nodiscard]] std::string masked(std::string text);
/// An argument for a message: masked, in quotes.
[[nodiscard]] std::string in_quotes(std::string_view argument);

// ---- Base64 ----

/// RFC 4648, with padding and without line ends.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// The bytes; none if `text` is not exactly what to_base64() writes for them.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

// ---- Suggestions ----

/// The insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate closest to `typed`, the first of equals; empty if none is close enough: at most 2
/// edits, and at most a third of the typed length. Leading dashes and case do not count.
[[nodiscard]] std::string_view closest(std::string_view typed,
                                       std::span<const std::string_view> candidates);
/// "; did you mean 'check'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view typed,
                                       std::span<const std::string_view> candidates);
/// "a, b or c"
[[nodiscard]] std::string one_of(std::span<const std::string_view> words);
/// "; did you mean 'check'?", or if no candidate is close, "; expected one of: …" with all of them.
[[nodiscard]] std::string did_you_mean_or_all(std::string_view typed,
                                              std::span<const std::string_view> candidates);

// ---- Columns of a terminal ----

/// The start of a text on a terminal: a character, or a colour's escape sequence, which takes no
/// column.
struct Glyph {
  std::size_t bytes = 0, columns = 0;
};
/// The first glyph of `text`, which must not be empty.
[[nodiscard]] Glyph glyph_at(std::string_view text) noexcept;
/// The columns of a UTF-8 text on a terminal, where some characters take two columns and combining
/// ones none; a byte that is not UTF-8 takes one, a colour sequence none.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;

}  // namespace rlctl
