#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.h"

namespace rlctl::cli {

/// The value of an environment variable. An empty value counts as unset.
std::optional<std::string> environment(const char* name);

/// The file for a history that is kept between runs: $XDG_STATE_HOME/rlctl/NAME, or in
/// ~/.local/state if the variable is unset, empty or not absolute. Empty without a home directory.
std::string state_file(const std::string& name);

// Properties of a terminal, queried at each call, since a window may change its size.

bool is_terminal(int fd) noexcept;
/// 80 columns and 24 lines if the size is unknown.
std::size_t terminal_width(int fd) noexcept;
std::size_t terminal_height(int fd) noexcept;
/// Whether it is a terminal with escape sequences: TERM is set and is not "dumb".
bool may_draw(int fd);
/// When output has colours. kAuto follows the variables NO_COLOR and CLICOLOR_FORCE, else
/// may_draw().
enum class Colour { kAuto, kAlways, kNever };
bool has_colour(int fd, Colour when = Colour::kAuto);
/// Whether the terminal uses UTF-8: the first non-empty one of LC_ALL, LC_CTYPE and LANG decides.
bool locale_is_utf8();

/// Text for people, with "us" in place of the "µs" after the numbers in it, which base/time.h
/// writes, unless the terminal uses UTF-8.
std::string without_micro_sign(std::string text, bool utf8);

/// How output may be formatted.
struct Look {
  std::size_t columns = 80;
  bool colour = false;
  bool utf8 = false;  ///< else ASCII only, except in keys and members, which are data
};

Look look_of(int fd, Colour when = Colour::kAuto);

/// Longer keys are cut, since a client can choose how long its key is.
inline constexpr std::size_t kLongestShownKey = 200;
/// A key for text that people read: escaped_text(), cut after kLongestShownKey bytes, where an
/// ellipsis stands.
std::string key_text(std::string_view key, const Look& look);

/// The meaning of a piece of text, which decides its colour.
enum class Tone { kPlain, kLabel, kDim, kGood, kWarning, kBad };

/// The text, with the colour of its tone if `colour` is true.
std::string toned(std::string_view text, Tone tone, bool colour);

/// What printable() leaves as it is.
enum class Printed {
  kLine,           ///< no line ends or tabs, but colours, which toned() wrote
  kLines,          ///< line ends and tabs
  kColouredLines,  ///< and colours: on standard output alone
};
/// Escapes what a terminal would interpret, and bytes that are not UTF-8, as escaped_message()
/// does. Each way out of rlctl calls it: Output, Destination, write_stderr(), questions, tables.
/// Hence a name that was not escaped where it was formatted changes no terminal. What is escaped
/// already stays. Rejected: a type for text from outside, since almost all texts are parts of
/// sentences and cells soon after they are read, and would have to be of this type as well. A way
/// out cannot tell whose line end it is, so that a text of several fields escapes each.
std::string printable(std::string_view text, Printed printed);
/// Returns whether printable() would leave the text as it is because it has nothing special.
bool is_plain(std::string_view text, Printed printed) noexcept;

/// The part of a line that fits into `columns`, with any colour reset at its end.
std::string cut_to_width(std::string_view line, std::size_t columns);
/// A text without colours whose middle is replaced by `mark` if it is wider than `columns`: its end
/// may tell it from others as its start does.
std::string without_middle(std::string_view text, std::size_t columns, std::string_view mark);

/// Appends spaces to extend `used` columns to `columns`.
void pad(std::string& out, std::size_t used, std::size_t columns);

// ---- Questions ----

/// True if standard input and standard error are terminals.
bool can_confirm() noexcept;

/// Asks on standard error and reads a line from standard input. Returns true for y and yes, in any
/// case; false for an empty line, the end of input and anything else. Throws Interrupted on Ctrl-C.
bool confirm(std::string_view question, const Interrupt& interrupt);

/// Asks on the terminal of the process (/dev/tty, even if stdin is redirected) without echo. Throws
/// UsageError if there is no terminal or nothing was typed, Interrupted on Ctrl-C.
std::string ask_password(std::string_view prompt, const Interrupt& interrupt);

}  // namespace rlctl::cli
