#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "cli/burst/plan.h"
#include "cli/burst/report.h"
#include "cli/command.h"
#include "limiter/decision.h"
#include "replay/recording.h"
#include "traffic/traffic.h"

namespace rlctl::cli {

/// Called for each decision, with the name of the run and of the key.
using OnBurstDecision = std::function<void(std::string_view run, std::string_view key,
                                           const traffic::Arrival&, const limiter::Decision&)>;

/// Reads the plan's log, with progress on stderr if wanted; null where the plan has none. A warning
/// tells how many lines could not be read. Throws what replay::Recording throws, and UsageError
/// where one of the plan's limiters takes no request of such a cost.
[[nodiscard]] std::shared_ptr<const replay::Recording> read_recording(const BurstPlan& plan,
                                                                      const Invocation& invocation,
                                                                      bool shows_progress);

/// Leads the traffic of the report's plan through each of its limiters, one after the other, and
/// adds the runs to the report.
///
/// On a server that --url or another option of the command line names, it says on stderr under
/// which prefix it writes. All keys are removed after each run, also when it ends by an error or by
/// Ctrl-C; after the latter the report covers what was done so far. Without such an option the
/// server is a private one: RLCTL_URL and the configuration name servers that are for use, not for
/// load.
///
/// Throws what connecting and deciding throw; the report then has the runs before. `on_decision`
/// may be empty.
void run_burst(BurstReport& report, Invocation& invocation, bool shows_progress,
               const OnBurstDecision& on_decision);

}  // namespace rlctl::cli
