#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rlctl {

/// Bytes of a server or a user as they may stand in a one-line message: control bytes and
/// backslashes become \n, \x1b ...; what is longer than `limit` bytes is cut and ends in "...".
[[nodiscard]] std::string escape(std::string_view bytes,
                                 std::size_t limit = std::string_view::npos);

/// A sentence of the system's as part of one of ours: without its initial capital, but "I/O error"
/// keeps its own.
[[nodiscard]] std::string without_initial_capital(std::string text);

/// What errno means, in lower case: "connection refused".
[[nodiscard]] std::string errno_text(int error);

/// A whole number in decimal digits with an optional minus sign. Throws UsageError naming `what`.
[[nodiscard]] std::int64_t parse_whole(std::string_view text, std::string_view what);
/// The value of decimal digits, or `most` + 1 where that is less: never overflows. Leading zeros
/// are no octal: 07 is 7.
[[nodiscard]] std::int64_t bounded_value(std::string_view digits, std::int64_t most);
/// In decimal digits.
void append_number(std::string& out, std::int64_t number);
[[nodiscard]] bool is_digit(char c);
/// Removes the digits at the front of `text` and returns them.
[[nodiscard]] std::string_view take_digits(std::string_view& text);

/// Replaces what stands between the first "scheme://" or "unix:" and the last "@" by asterisks, in
/// place: a password may hold anything. What is no URL may be masked too; no password is left.
void mask_passwords(char* text, std::size_t size);
/// An argument is masked by itself before it enters a sentence: there it may be shortened, and
/// other words with an "@" may follow. Whole sentences are masked as a second net.
[[nodiscard]] std::string masked(std::string text);
/// As it may stand in a message: masked, in quotes.
[[nodiscard]] std::string in_quotes(std::string_view argument);

}  // namespace rlctl
