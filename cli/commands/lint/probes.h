#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "cli/commands/lint/plan.h"
#include "lint/findings.h"
#include "traffic/script.h"
#include "traffic/virtual_run.h"

// The traffic that lint sends to learn what a client gets that does not give up. Thousands of
// requests are needed, so they go to a script's server without the debugger, in virtual time.
// observer.cc runs the probes once it knows the script's TTLs, and asks the debugger for the line
// of what they show; program.cc runs them on a program.

namespace rlctl::cli::lint {

/// A limiter on trial.
struct LimiterTrial {
  adversary::TrialKeys keys = {};
  std::unique_ptr<traffic::Script> script = {};             ///< null for a program
  std::unique_ptr<traffic::ForgetfulDecider> program = {};  ///< null for a script
  std::unique_ptr<adversary::Trial> trial = {};
  adversary::ScriptTrial* script_trial = nullptr;  ///< null for a program, which has no TTLs
};
using MakeTrial = std::function<std::unique_ptr<LimiterTrial>(const traffic::Candidate& candidate)>;

/// When schedules begin: early in a window of the clock, at a time with six decimals.
std::chrono::microseconds start_of_traffic(std::chrono::microseconds window);
inline constexpr std::chrono::microseconds kSecond{1'000'000};
/// TTLs in virtual time are rounded up to 10 ms, so that a key may end this much late.
inline constexpr std::chrono::microseconds kTtlStep{20'000};
/// The shortest gap between two instants, for this window.
std::chrono::microseconds shortest_gap(std::chrono::microseconds window);

/// The schedule with `count` more requests.
adversary::Schedule joined(adversary::Schedule schedule, std::chrono::microseconds at,
                           std::int64_t cost, std::size_t count = 1);
/// The number of allowed requests, without those before the index `first`.
std::int64_t allowed_from(const adversary::Answers& answers, std::size_t first);

/// "5 of 6 allowed at 0 s, 0 of 31 each 2 s until 62 s", from the first request on.
std::string schedule_text(const adversary::Schedule& schedule, const adversary::Answers& answers);

/// What the probes must know about a limiter.
struct ProbeRequest {
  std::chrono::microseconds start{0};  ///< see start_of_traffic()
  std::chrono::microseconds tick{1};   ///< see shortest_gap()
  /// The TTLs that the script was seen to set, without duplicates.
  std::vector<std::chrono::microseconds> ttls = {};
  std::vector<std::int64_t> costs = {};
};

/// The requests of one cost that reach the limit.
struct Fill {
  /// The fewest at one instant, or one tick apart, of which the last is denied.
  adversary::Schedule schedule = {};
  /// After which a client is let in that sends nothing; std::nullopt if it never is.
  std::optional<std::chrono::microseconds> wait = {};
};

/// What the probes showed: each flaw as find_flaws() judges it.
struct Probed {
  std::int64_t requests = 0;                ///< that were sent
  std::map<std::int64_t, Fill> fills = {};  ///< by cost
  std::optional<rlctl::lint::LockOut> lock_out = {};
  std::optional<rlctl::lint::Renewal> renewal = {};
  std::optional<rlctl::lint::Forgotten> forgotten = {};
  std::optional<rlctl::lint::FreePass> free_pass = {};
  std::vector<std::string> tested = {};
  std::vector<NotTested> not_tested = {};
};

/// Runs all probes. Throws what the limiter throws, and Interrupted. A private server is empty
/// afterwards.
Probed probe(const Subject& subject, const MakeTrial& make_trial, const ProbeRequest& request);

}  // namespace rlctl::cli::lint
