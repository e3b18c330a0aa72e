#pragma once

#include <string>
#include <string_view>

#include "base/wait.h"

namespace rlctl::cli {

/// Asks on the terminal of the process (/dev/tty, whatever stdin is) and shows nothing of what is
/// typed. Throws UsageError where there is no terminal, Interrupted on Ctrl-C.
[[nodiscard]] std::string ask_password(std::string_view prompt, const Interrupt& interrupt);

}  // namespace rlctl::cli
