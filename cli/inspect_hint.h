#pragma once

#include <string>
#include <string_view>

namespace rlctl::cli {

/// "rlctl inspect login:alice shows what it holds": a command to be copied into a shell, unless the
/// key would need more than quotes there.
[[nodiscard]] std::string inspect_hint(std::string_view key);

}  // namespace rlctl::cli
