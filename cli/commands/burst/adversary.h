#pragma once

#include <vector>

#include "cli/app/command.h"
#include "cli/commands/burst/assertions.h"
#include "cli/commands/burst/data.h"

namespace rlctl::cli::burst {

/// `rlctl burst adversary`: searches against each of the plan's limiters in turn, and removes their
/// keys. After Ctrl-C the report covers the findings so far.
[[nodiscard]] ExitStatus run_adversary(const Plan& plan, const std::vector<Assertion>& assertions,
                                       Invocation& invocation);

}  // namespace rlctl::cli::burst
