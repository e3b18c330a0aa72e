#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

// What every layer does with text: escaping it for a terminal, parsing numbers, wording messages,
// masking passwords, suggesting a word that the user may have meant, and measuring columns.
// Nothing here knows what the text means.

namespace rlctl {

// ---- UTF-8 and escaping ----

/// The bytes of the UTF-8 character at the start of `text`; 0 if there is none (RFC 3629).
std::size_t utf8_length(std::string_view text) noexcept;
bool is_utf8(std::string_view text) noexcept;
/// The character of several bytes at the start of `text` if a terminal may interpret it or nobody
/// sees it: a C1 control character, one that changes the direction of the text, a line or paragraph
/// separator, a space other than U+0020, or one without a width, such as U+200B. 0 if it has none.
char32_t control_character_at(std::string_view text) noexcept;

// Keys, members, replies and arguments are data: whatever a terminal or a line parser would
// interpret is escaped as \n, \r, \t or \xNN.

/// For `word key=value` lines: also escapes blanks, backslashes and bytes that are not UTF-8, so
/// that a value is one word and can be read back.
std::string escaped_text(std::string_view text);
/// For a sentence in a `word key=value` line: in double quotes, with \" and \\ and the escapes of
/// escaped_text(), except that blanks stay.
std::string quoted_text(std::string_view text);
/// For messages on stderr: escapes control characters and bytes that are not UTF-8.
std::string escaped_message(std::string_view text);
/// For a part of a message that will be escaped again as a whole: escapes control bytes and
/// backslashes. Text longer than `limit` bytes is cut and ends in "...".
std::string escape(std::string_view bytes, std::size_t limit = std::string_view::npos);
/// The last lines of another program's output, as a part of a message: at most `most` that are not
/// blank, each escaped and cut, between semicolons. Empty if there is none.
std::string last_lines(std::string_view text, std::size_t most);

// ---- Characters and parts of a text ----

/// Whether this is a letter of ASCII or a decimal digit.
bool is_alphanumeric(char c) noexcept;
char lower_case(char c) noexcept;
std::string lower_case(std::string_view text);
/// Whether `text` contains `word` in any case; `word` is in lower case.
bool contains_in_any_case(std::string_view text, std::string_view word);

/// Removes the text up to the first of the `separators`, and the separator; returns the text before
/// it.
std::string_view take_until(std::string_view& text, std::string_view separators);
/// The parts of a list, at least one; a part may be empty.
std::vector<std::string> split_at_commas(std::string_view list);

// ---- Numbers ----

/// A finite number without an exponent that is the whole text: "87.5".
std::optional<double> to_decimal(std::string_view text) noexcept;
/// Parses decimal digits with an optional minus sign. Throws UsageError naming `what`.
std::int64_t parse_whole(std::string_view text, std::string_view what);
/// The value of decimal digits, or `most` + 1 if that is less; never overflows. A leading zero does
/// not mean octal: 07 is 7.
std::int64_t bounded_value(std::string_view digits, std::int64_t most);
/// Whether the text consists of decimal digits, at least one.
bool is_digits(std::string_view text) noexcept;
/// Removes the digits at the front of `text` and returns them.
std::string_view take_digits(std::string_view& text);

/// Up to three decimals, without trailing zeros: "3.25", "3". Rounded down, so that 0.9996 of a
/// token does not show as a whole one.
std::string amount_text(double amount);

// ---- Words and sentences ----

/// "1 key", "2 keys": `noun` is a singular whose plural adds an s.
std::string counted(std::int64_t count, std::string_view noun);
/// "10,518,299"
std::string grouped(std::int64_t count);
/// The plural ending for `count` items: "" or "s".
template <std::integral Integer>
constexpr std::string_view plural(Integer count) {
  return count == 1 ? "" : "s";
}

/// A system message as part of one of rlctl's: lower-cases its first letter, but leaves "I/O error"
/// alone.
std::string without_initial_capital(std::string text);
/// The text of an errno, in lower case: "connection refused".
std::string errno_text(int error);

// ---- Passwords ----

/// Replaces everything between the first "scheme://" or "unix:" and the last "@" with asterisks, in
/// place, since a password may contain any character. This may mask text that is not a URL, but
/// leaves no password.
void mask_passwords(char* text, std::size_t size);
/// A copy with the passwords masked. Mask an argument before it enters a message, where it may be
/// shortened or followed by words with an "@". Whole messages are masked again as a safeguard.
std::string masked(std::string text);
/// An argument for a message: masked, in quotes.
std::string quoted_and_masked(std::string_view argument);

// ---- Base64 ----

/// RFC 4648, with padding and without line ends.
std::string to_base64(std::string_view bytes);
/// The bytes; std::nullopt if `text` is not exactly what to_base64() writes for them.
std::optional<std::string> from_base64(std::string_view text);

// ---- Suggestions ----

/// The insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate closest to `typed`, the first of equals; empty if none is close enough: at most 2
/// edits, and at most a third of the typed length. Leading dashes and case do not count.
std::string_view closest(std::string_view typed, std::span<const std::string_view> candidates);
/// "; did you mean 'check'?": the closest candidate or, if none is close, those of which `typed` is
/// the beginning, at most 3. Empty if there are none, or more.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> candidates);
/// "a, b or c"; `last` is the word before the last one.
std::string one_of(std::span<const std::string_view> words, std::string_view last = "or");
/// "; did you mean 'check'?", or if no candidate is close, "; expected one of: …" with all of them.
std::string did_you_mean_or_all(std::string_view typed,
                                std::span<const std::string_view> candidates);

// ---- Columns of a terminal ----

/// The start of a text on a terminal: a character, or a colour's escape sequence, which takes no
/// column.
struct Glyph {
  std::size_t bytes = 0, columns = 0;
};
/// The first glyph of `text`, which must not be empty.
Glyph glyph_at(std::string_view text) noexcept;
/// The columns of a UTF-8 text on a terminal, where some characters take two columns and combining
/// ones none; a byte that is not UTF-8 takes one, a colour sequence none.
std::size_t display_width(std::string_view text) noexcept;

// ---- Scanner ----

/// Reads a text from its front. Each step returns whether it found what it expects; if not, a step
/// that expects a single thing consumes nothing.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool any_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == characters.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// Exactly `digits` decimal digits.
  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    int read = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return false;
      read = read * 10 + (rest_[i] - '0');
    }
    value = read;
    rest_.remove_prefix(digits);
    return true;
  }

  /// Takes all digits and returns how many there are. The first `places` form the value: "1" with 3
  /// places is 100.
  std::size_t fraction(int places, std::int64_t& value) {
    value = 0;
    const auto digits = take_digits(rest_);
    for (const char digit : digits) {
      if (places-- > 0) value = value * 10 + (digit - '0');
    }
    for (; places > 0; --places) value *= 10;
    return digits.size();
  }

  /// Takes the rest of the text, an offset from UTC without its sign: hh, hhmm or hh:mm.
  bool offset(std::chrono::minutes& value) {
    int hours = 0;
    int minutes = 0;
    if (!number(2, hours)) return false;
    if (!done()) {
      any_of(":");
      if (!number(2, minutes)) return false;
    }
    value = std::chrono::hours{hours} + std::chrono::minutes{minutes};
    return hours <= 23 && minutes <= 59;
  }

  bool at_digit() const { return !rest_.empty() && is_digit(rest_.front()); }
  bool done() const { return rest_.empty(); }
  std::string_view take(std::size_t size) {
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace rlctl
