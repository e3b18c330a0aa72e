#pragma once

#include <string>
#include <string_view>

namespace rlctl {

// Keys and members are data: what a terminal or a parser of lines would act on is escaped. UTF-8
// stays; bytes that are not UTF-8 become \xNN. All append to `out`.

/// For `word key=value` lines: also blanks and backslashes, so that a value is one word and can be
/// read back: \n \r \t \\ \xNN.
void escape_text(std::string& out, std::string_view text);
[[nodiscard]] std::string escaped_text(std::string_view text);

/// For sentences on stderr: control bytes and bad bytes only.
void escape_message(std::string& out, std::string_view text);
[[nodiscard]] std::string escaped_message(std::string_view text);

/// How many bytes the UTF-8 character at the start of `text` takes; 0 if there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace rlctl
