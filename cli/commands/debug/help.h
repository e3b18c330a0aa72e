#pragma once

#include <string_view>

namespace rlctl::cli {

/// What `help COMMAND` says about a command of the debugger below its summary: a few lines with an
/// example, each with its line end. Empty if no command has this name.
[[nodiscard]] std::string_view explanation_of(std::string_view command);

}  // namespace rlctl::cli
