#pragma once

#include <optional>
#include <string>

namespace rlctl::cli {

/// What an environment variable holds. Empty is as good as unset.
[[nodiscard]] std::optional<std::string> environment(const char* name);

/// Where what a person did is kept from one time to the next: $XDG_STATE_HOME/rlctl/NAME, in
/// ~/.local/state where that is unset, empty or not absolute. Empty where there is no home.
[[nodiscard]] std::string state_file(const std::string& name);

}  // namespace rlctl::cli
