#pragma once

#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "traffic/decider.h"
#include "traffic/outcome.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// Leads a traffic through a decider under the virtual clock: a request is decided as of the time
/// at which it comes, and no real time passes in between. The same traffic gives the same outcome,
/// however fast the machine is. Ends early, without an exception, where `interrupt` is raised.
[[nodiscard]] Outcome run_virtually(Traffic& traffic, Decider& decider,
                                    const std::vector<limiter::Limit>& limits,
                                    const Interrupt& interrupt, const OnDecision& on_decision = {},
                                    const OnProgress& on_progress = {});

}  // namespace rlctl::traffic
