#pragma once

#include <string>
#include <string_view>

#include "base/wait.h"

namespace rlctl::cli {

/// True if standard input and standard error are terminals.
[[nodiscard]] bool can_confirm() noexcept;

/// Asks on standard error and reads a line from standard input. Returns true for y and yes, in any
/// case; false for an empty line, the end of input and anything else. Throws Interrupted on Ctrl-C.
[[nodiscard]] bool confirm(std::string_view question, const Interrupt& interrupt);

/// Asks on the terminal of the process (/dev/tty, even if stdin is redirected) without echo. Throws
/// UsageError if there is no terminal or nothing was typed, Interrupted on Ctrl-C.
[[nodiscard]] std::string ask_password(std::string_view prompt, const Interrupt& interrupt);

}  // namespace rlctl::cli
