#pragma once

#include <optional>

#include "cli/doctor/checks.h"

namespace rlctl::cli {

/// Whether the server runs scripts, and has the commands that ours call.
[[nodiscard]] std::optional<CheckResult> check_scripts(const ServerFacts& server);
/// Whether the user may run what `check` calls.
[[nodiscard]] std::optional<CheckResult> check_acl(const ServerFacts& server);

}  // namespace rlctl::cli
