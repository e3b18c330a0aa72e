#pragma once

#include <optional>
#include <string>

namespace rlctl::cli {

/// What an environment variable holds. Empty is as good as unset.
[[nodiscard]] std::optional<std::string> environment(const char* name);

}  // namespace rlctl::cli
