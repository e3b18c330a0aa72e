#pragma once

#include "cli/app/command.h"
#include "cli/trial/plan.h"

namespace rlctl::cli::adversary {

/// The default --limit: the schedules of a search are short enough to read with a small one, which
/// has most of the same flaws.
inline constexpr const char* kDefaultLimit = "5/60s";

/// Sets what follows from the options. Throws UsageError if the search cannot run, or cannot find
/// anything.
void complete_plan(trial::Plan& plan, const Invocation& invocation);

}  // namespace rlctl::cli::adversary
