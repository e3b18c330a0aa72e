#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "redis/interrupt.h"
#include "traffic/decider.h"
#include "traffic/measurement.h"
#include "traffic/timeline.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// What became of one contestant.
struct Outcome {
  Measured measured;
  std::vector<KeyDenied> top_denied;  ///< at most ten
  Timeline timeline;
  /// At the end of the traffic, over the keys that are there then; none without a server.
  std::optional<double> bytes_per_key;
  bool interrupted = false;  ///< it is of the traffic's beginning only
};

/// Called for each request with what was decided, in order: for --jsonl and --csv.
using OnDecision = std::function<void(const Arrival&, const limiter::Decision&)>;
/// Called some times a second at least: how many requests have been decided.
using OnProgress = std::function<void(std::int64_t)>;

/// Leads a traffic through a decider under the virtual clock: a request is decided as of the time
/// at which it comes, and no real time passes in between. The same traffic gives the same outcome,
/// however fast the machine is. Ends early, without an exception, where `interrupt` is raised.
[[nodiscard]] Outcome run_virtually(Traffic& traffic, Decider& decider,
                                    const std::vector<limiter::Limit>& limits,
                                    const redis::Interrupt& interrupt,
                                    const OnDecision& on_decision = {},
                                    const OnProgress& on_progress = {});

}  // namespace rlctl::traffic
