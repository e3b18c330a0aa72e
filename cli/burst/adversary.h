#pragma once

#include <vector>

#include "cli/burst/measures.h"
#include "cli/burst/options.h"
#include "cli/burst/plan.h"
#include "cli/command.h"

namespace rlctl::cli {

/// `rlctl burst adversary`: searches against each of the plan's limiters, one after the other, and
/// removes the keys. After Ctrl-C the report covers what was found until then.
[[nodiscard]] ExitStatus run_adversary(const BurstPlan& plan, const BurstOptions& options,
                                       const std::vector<Assertion>& assertions,
                                       Invocation& invocation);

}  // namespace rlctl::cli
