#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlctl::cli {

/// The value of an environment variable. Empty counts as unset.
[[nodiscard]] std::optional<std::string> environment(const char* name);

/// The file that keeps a person's history between runs: $XDG_STATE_HOME/rlctl/NAME, in
/// ~/.local/state if that is unset, empty or not absolute. Empty if there is no home.
[[nodiscard]] std::string state_file(const std::string& name);

// What the terminal of a descriptor can do. Queried at each call: a window changes its size.

[[nodiscard]] bool is_terminal(int fd) noexcept;
/// 80 columns and 24 lines if the size is not known.
[[nodiscard]] std::size_t terminal_width(int fd) noexcept;
[[nodiscard]] std::size_t terminal_height(int fd) noexcept;
/// A terminal that knows escape sequences: TERM is set, and is not "dumb".
[[nodiscard]] bool may_draw(int fd);
/// may_draw(), and NO_COLOR is unset or empty.
[[nodiscard]] bool may_colour(int fd);
/// The terminal takes UTF-8, according to the first of LC_ALL, LC_CTYPE and LANG that is not empty.
[[nodiscard]] bool locale_is_utf8();

/// The form that text may take.
struct Look {
  std::size_t columns = 80;
  bool colour = false;
  bool utf8 = false;  ///< else ASCII alone, apart from keys and members, which are data
};

[[nodiscard]] Look look_of(int fd);

/// The meaning of a piece of text, which decides its colour.
enum class Tone { kPlain, kLabel, kDim, kGood, kWarning, kBad };

/// The text, in its colour if there are colours. It must have been escaped.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

/// As much of a line as fits into `columns`; a colour that has begun is ended.
[[nodiscard]] std::string cut_to_width(std::string_view line, std::size_t columns);

/// Appends blanks until `used` columns have become `columns`.
void pad(std::string& out, std::size_t used, std::size_t columns);

}  // namespace rlctl::cli
