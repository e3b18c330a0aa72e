#pragma once

#include "cli/app/command.h"
#include "cli/commands/burst/data.h"
#include "cli/commands/burst/options.h"

namespace rlctl::cli {

/// The plan for these options and operands. Throws UsageError if it cannot run, before anything
/// starts.
[[nodiscard]] BurstPlan make_burst_plan(const BurstOptions& typed, const Invocation& invocation);

}  // namespace rlctl::cli
