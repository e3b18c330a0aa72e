#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/lint/plan.h"
#include "cli/trial/limiter_trial.h"
#include "lint/findings.h"
#include "lint/schedules.h"
#include "script/script.h"
#include "simulation/engine.h"

// The traffic that lint sends to learn what a client gets that does not give up: thousands of
// requests, in virtual time. observer.cc runs the probes once it knows the script's TTLs;
// program.cc runs them on a program.

namespace rlctl::cli::lint {

using rlctl::lint::Fill;
using trial::LimiterTrial;

using MakeTrial = std::function<std::unique_ptr<LimiterTrial>(const script::Candidate& candidate)>;

/// What the probes must know about a limiter.
struct ProbeRequest {
  std::chrono::microseconds start{0};  ///< see start_of_traffic()
  std::chrono::microseconds tick{1};   ///< see shortest_gap()
  /// The TTLs that the script was seen to set, without duplicates.
  std::vector<std::chrono::microseconds> ttls = {};
  std::vector<std::int64_t> costs = {};
};

/// What the probes showed: each flaw as find_flaws() judges it.
struct Probed {
  std::int64_t requests = 0;                ///< that were sent
  std::map<std::int64_t, Fill> fills = {};  ///< by cost
  rlctl::lint::ProbedFlaws flaws = {};
  bool is_excess = false;     ///< more than twice the limit was allowed in a window
  bool needs_expiry = false;  ///< as the traffic showed, it lets nobody in while its keys stay
  std::vector<std::string> tested = {};
  std::vector<NotTested> not_tested = {};
};

/// Runs all probes. Throws what the limiter throws, and Interrupted.
Probed probe(const Subject& subject, const MakeTrial& make_trial, const ProbeRequest& request);

// ---- Causes ----

using rlctl::lint::Cause;
/// Runs all probes on a changed script, whose calls are answered so; std::nullopt if it fails.
using ProbeAgain = std::function<std::optional<Probed>(const Subject& changed,
                                                       const simulation::AnswerCall& answer)>;
/// Why the script showed what the probes saw, as a counter-experiment confirms; std::nullopt if
/// none does. `stores_time`: see time_stored_in().
std::optional<Cause> find_cause(const Subject& subject, const Probed& probed, bool stores_time,
                                const ProbeAgain& probe_again);

}  // namespace rlctl::cli::lint
