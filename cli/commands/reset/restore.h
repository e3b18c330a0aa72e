#pragma once

#include <string>

#include "cli/app/command.h"
#include "cli/commands/reset/report.h"

namespace rlctl::cli {

/// Puts back what is saved in a file, and reports each key. Throws InputError for a file that is
/// not what --save wrote, before anything is sent, and redis::Error. Of the plan, only dry_run
/// and quiet count.
[[nodiscard]] ExitStatus restore_keys(const ResetPlan& plan, const std::string& file, bool replace,
                                      Invocation& invocation);

}  // namespace rlctl::cli
