#pragma once

#include <functional>
#include <string_view>

#include "cli/burst/plan.h"
#include "cli/burst/report.h"
#include "cli/command.h"

namespace rlctl::cli {

/// Told each decision: the run's name, the key's, what was asked and what was decided.
using OnBurstDecision = std::function<void(std::string_view run, std::string_view key,
                                           const traffic::Arrival&, const limiter::Decision&)>;

/// Leads the plan's traffic through each of its limiters, one after the other.
///
/// On a server that --url or another option of the command line names, it says on stderr under
/// which prefix it writes. Whatever was written is removed after each run, also when that ends by
/// an error or by Ctrl-C; after the latter the report is of what was done so far. Without such an
/// option the server is a private one: RLCTL_URL and the configuration name servers that are for
/// use, not for load.
///
/// Throws what connecting and deciding throw. `on_decision` may be empty.
[[nodiscard]] BurstReport run_burst_plan(const BurstPlan& plan, Invocation& invocation,
                                         bool shows_progress, const OnBurstDecision& on_decision);

}  // namespace rlctl::cli
