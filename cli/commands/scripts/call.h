#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/app/command.h"
#include "cli/commands/scripts/bundled_scripts.h"
#include "cli/options/limits.h"

namespace rlctl::cli::scripts {

/// The options of `scripts call`.
struct CallOptions {
  LimitOptions limit;
  std::int64_t cost = 1;
  std::optional<std::chrono::microseconds> now;
  bool key_base64 = false;
  bool print = false;
};

/// Throws UsageError if there is no script with this name.
[[nodiscard]] const BundledScript& script_named(const std::string& name);

/// Makes the one call of a script that `check` with these options would make, and prints the reply;
/// or prints the redis-cli command line that makes it. Throws UsageError, ProblemError and
/// redis::Error.
[[nodiscard]] ExitStatus call_script_once(const CallOptions& options, Invocation& invocation);

}  // namespace rlctl::cli::scripts
