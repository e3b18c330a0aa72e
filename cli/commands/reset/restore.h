#pragma once

#include "cli/app/command.h"
#include "cli/commands/reset/report.h"

namespace rlctl::cli::reset {

/// Puts back what is saved in the file plan.restore, and reports each key. Throws InputError for a
/// file that is not what --save wrote, before anything is sent, and redis::Error.
[[nodiscard]] ExitStatus restore_keys(const Plan& plan, Invocation& invocation);

}  // namespace rlctl::cli::reset
