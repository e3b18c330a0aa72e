#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlctl::cli {

/// What an environment variable holds. Empty is as good as unset.
[[nodiscard]] std::optional<std::string> environment(const char* name);

/// Where what a person did is kept from one time to the next: $XDG_STATE_HOME/rlctl/NAME, in
/// ~/.local/state where that is unset, empty or not absolute. Empty where there is no home.
[[nodiscard]] std::string state_file(const std::string& name);

// What the terminal behind a descriptor can do. Asked anew at each call: a window changes its size.

[[nodiscard]] bool is_terminal(int fd) noexcept;
/// 80 columns and 24 lines where that is not known: no terminal, or one that does not say.
[[nodiscard]] std::size_t terminal_width(int fd) noexcept;
[[nodiscard]] std::size_t terminal_height(int fd) noexcept;
/// A terminal that knows escape sequences: TERM says which one, and that is not "dumb".
[[nodiscard]] bool may_draw(int fd);
/// may_draw(), and NO_COLOR is unset or empty.
[[nodiscard]] bool may_colour(int fd);
/// What is shown is UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is not empty says so.
[[nodiscard]] bool locale_is_utf8();

/// What a text may look like.
struct Look {
  std::size_t columns = 80;
  bool colour = false;
  bool utf8 = false;  ///< else ASCII alone, apart from keys and members, which are data
};

[[nodiscard]] Look look_of(int fd);

/// The meaning of a piece of text, which decides its colour.
enum class Tone { kPlain, kLabel, kDim, kGood, kWarning, kBad };

/// The text, in its colour where there are colours. It must have been escaped.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

/// As much of a line as fits into so many columns; a colour that has begun is ended.
[[nodiscard]] std::string cut_to_width(std::string_view line, std::size_t columns);

/// Appends blanks until `used` columns have become `columns`.
void pad(std::string& out, std::size_t used, std::size_t columns);

}  // namespace rlctl::cli
