#pragma once

#include <cstddef>

namespace rlctl::cli {

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

}  // namespace rlctl::cli
