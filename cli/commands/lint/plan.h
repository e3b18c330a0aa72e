#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/exec_options.h"
#include "cli/options/script_options.h"
#include "exec/program.h"
#include "lint/excuses.h"
#include "lint/findings.h"
#include "script/script.h"

namespace rlctl::cli::lint {

using rlctl::lint::NotTested;

/// A small limit, since the traffic exceeds it.
inline constexpr const char* kDefaultLimit = "5/60s";

struct Plan {
  std::vector<std::string> limits = {};  ///< as typed: a burst belongs to them
  /// The scripts give leases; only what they do about these is tested.
  std::optional<std::int64_t> concurrency = {};
  std::chrono::microseconds lease = std::chrono::seconds{30};
  /// --reserve: the units of each reservation of a budget; only how it is kept is tested.
  std::optional<std::int64_t> reserve = {};
  std::chrono::microseconds hold = std::chrono::seconds{30};
  ScriptOptions script = {};
  ExecOptions exec = {};
};

/// What lint asks a limiter for: requests, leases, or reservations of a budget.
enum class Conduct { kRequests, kLeases, kBudget };

/// A script to examine, and how to call it; or a program.
struct Subject {
  Conduct conduct = Conduct::kRequests;
  std::string place = {};   ///< its file as typed, or the name of a program
  std::string source = {};  ///< as its author wrote it; empty for a program
  script::Candidate candidate = {};
  std::string adversary = {};  ///< the command that searches for the worst schedule; may be empty
  std::string adversary_costs = {};  ///< what it takes if the limiter counts costs; may be empty
  std::vector<std::int64_t> said_costs = {};  ///< empty: chosen by the limit
  ValueOrigin costs_origin = {};              ///< where said_costs stands
  /// The costs above 0 of requests that reach the limit, ascending.
  std::vector<std::int64_t> costs = {1};
  std::vector<std::int64_t> all_costs = {};       ///< see rlctl::lint::Profile::costs
  std::vector<rlctl::lint::Excuse> excuses = {};  ///< none for a program
  /// The limit as typed, if `candidate` has a smaller one instead, which the traffic can exceed.
  std::optional<limiter::Limit> unscaled = {};
};
/// The traffic exceeds limits up to this one; larger ones are scaled down.
inline constexpr std::int64_t kLargestLimit = 100;

/// The scripts and programs of the operands and of --exec, read. Throws UsageError,
/// and what reading the configuration throws, before anything runs.
std::vector<Subject> make_subjects(const Plan& plan, const Invocation& invocation);

/// What a limiter showed under lint's traffic.
struct Observed {
  std::vector<rlctl::lint::Finding> findings = {};
  std::int64_t requests = 0;  ///< that were sent
  std::vector<std::string> tested = {};
  std::vector<NotTested> not_tested = {};
  /// What rlctl changed in the script so that it can be loaded; and what could not be tested, and
  /// why.
  std::vector<std::string> warnings = {};
};

/// Sends traffic to a script in the engine, and records each command that it calls. Throws
/// redis::Error and ProblemError, which name the request, if the script fails or does not end, what
/// EngineDecider throws besides, and Interrupted.
Observed observe(const Subject& subject, const Interrupt& interrupt);
/// Sends traffic to a program, in virtual time, and judges its answers. Shows the progress on
/// stderr. Throws what exec::ProgramDecider throws.
Observed observe_program(const Subject& subject, const exec::Settings& settings);

/// Searches for schedules of acquires, renewals and releases that show a flaw of a limiter that
/// gives leases. Shows the progress on stderr. Throws what the limiter throws, and Interrupted.
Observed observe_leases(const Subject& subject, const exec::Settings& settings,
                        const Interrupt& interrupt);

/// The same of reserves and settles, and a limiter that keeps a budget.
Observed observe_budget(const Subject& subject, const Plan& plan, const exec::Settings& settings,
                        const Interrupt& interrupt);

/// The time of the processor for all scripts together. Sanitizers make programs slow.
#ifdef RLCTL_SANITIZED
inline constexpr std::chrono::seconds kMostTime{1200};
#else
inline constexpr std::chrono::seconds kMostTime{60};
#endif
/// Adds that there was no time to test this.
void add_lack_of_time(std::string_view what, Observed& observed);

/// Adds to what was observed that the limit was scaled down, if it was.
void note_scaling(const Subject& subject, Observed& observed);

}  // namespace rlctl::cli::lint
