#pragma once

#include <string>

#include "cli/app/command.h"
#include "cli/commands/reset/report.h"

namespace rlctl::cli::reset {

/// Frees one lease of the key, also if it is one of a key that has limits too. `holder` is its
/// HOST:PID:SINCE, or the beginning of that before a colon if it stands for only one. Throws
/// UsageError if it stands for several, and redis::Error.
[[nodiscard]] ExitStatus free_lease(const Plan& plan, const std::string& key,
                                    const std::string& holder, Invocation& invocation);

}  // namespace rlctl::cli::reset
