#pragma once

#include "cli/app/command.h"
#include "cli/trial/plan.h"

namespace rlctl::cli::burst {

/// The default --limit.
inline constexpr const char* kDefaultLimit = "1000/60s";

/// Sets what follows from the options: the traffic and the limiters. Throws UsageError if the plan
/// cannot run, before anything starts.
void complete_plan(trial::Plan& plan, const Invocation& invocation);

}  // namespace rlctl::cli::burst
