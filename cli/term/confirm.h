#pragma once

#include <string_view>

#include "base/wait.h"

namespace rlctl::cli {

/// There is somebody to ask: standard input and standard error are terminals.
[[nodiscard]] bool can_confirm() noexcept;

/// Asks on standard error and reads a line of standard input. True for y and yes, in any case; an
/// empty line, the end of input and all else mean no. Throws Interrupted on Ctrl-C.
[[nodiscard]] bool confirm(std::string_view question, const Interrupt& interrupt);

}  // namespace rlctl::cli
