#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cli/commands/doctor/checks.h"

namespace rlctl::cli::doctor {

/// Whether the server runs scripts, and has the commands that ours call.
[[nodiscard]] std::optional<Finding> check_scripts(const ServerFacts& server);
/// Whether the user may run what `check` calls with these algorithms, which the policies use;
/// without policies, with any.
[[nodiscard]] std::optional<Finding> check_acl(const ServerFacts& server,
                                               std::span<const std::string_view> algorithms);

}  // namespace rlctl::cli::doctor
