#pragma once

#include <string>
#include <string_view>

#include "redis/interrupt.h"

namespace rlctl::cli {

/// Asks on the terminal of the process (/dev/tty, whatever stdin is) and shows nothing of what is
/// typed. Throws UsageError where there is no terminal, redis::Error(kInterrupted) on Ctrl-C.
[[nodiscard]] std::string ask_password(std::string_view prompt, const redis::Interrupt& interrupt);

}  // namespace rlctl::cli
