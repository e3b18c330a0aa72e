#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adversary/search.h"
#include "cli/app/command.h"
#include "cli/options/exec_options.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "traffic/holding.h"
#include "traffic/pattern.h"
#include "traffic/script.h"
#include "traffic/spending.h"
#include "traffic/suggestion.h"

namespace rlctl::cli::burst {

/// The default --limit. The schedules of a search are short enough to read with a small one, which
/// has the same flaws.
inline constexpr const char *kDefaultLimit = "1000/60s", *kSearchLimit = "5/60s";
/// The value of --algorithm for each algorithm that counts requests.
inline constexpr const char* kAllAlgorithms = "all";

/// How `rlctl burst adversary` searches.
struct SearchPlan {
  std::int64_t tries = adversary::kDefaultTries;  ///< requests against each limiter
  /// Tries every schedule of at most this many requests at critical times, instead of `tries`.
  std::optional<int> exhaustive = {};
  bool monotonic = false;                 ///< --monotonic
  std::optional<std::string> write = {};  ///< the file for the schedule

  /// Whether it also tries a clock that steps back.
  bool steps_back() const noexcept { return !monotonic && !exhaustive; }
};

/// What the options say about leases.
struct LeasePlan {
  std::chrono::microseconds lease = std::chrono::seconds{30};
  traffic::HoldPlan hold{.hold = std::chrono::seconds{1}};
  std::optional<std::string> release = {};            ///< the file of the script that releases
  std::optional<std::string> release_arguments = {};  ///< its --args
};

/// What the options say about reservations, besides LeasePlan's --hold and --crash.
struct BudgetPlan {
  traffic::SpendPlan spend{.hold = std::chrono::seconds{30},
                           .settle_after = std::chrono::seconds{1}};
  std::optional<std::string> settle = {};            ///< the file of the script that settles
  std::optional<std::string> settle_arguments = {};  ///< its --args
};

/// The format of a file to which a report is written.
enum class ReportFormat { kSvg, kHtml, kJson, kJsonl };
struct ReportFile {
  ReportFormat format;
  std::string path;
};

/// What `rlctl burst` will do. The options set the first part, complete_plan() the rest.
struct Plan {
  // Texts whose meaning depends on other options.
  std::vector<std::string> limit_texts = {}, assertion_texts = {};
  std::optional<std::string> burst_text = {};
  ScriptOptions script = {};  ///< with the KEYS and ARGV among the operands
  ExecOptions exec = {};
  ReplayArguments log = {};
  std::vector<const limiter::Algorithm*> algorithms = {};  ///< each once
  std::optional<std::string> compare = {};  ///< the limiter to compare the only other one with
  /// --concurrency: leases are asked for. Then the only limit is this number and --lease.
  std::optional<std::int64_t> concurrency = {};
  LeasePlan leases = {};
  /// --reserve: the units that each request reserves, and settles later.
  std::optional<std::int64_t> reserve = {};
  BudgetPlan budget = {};
  bool model = false;                      ///< the models decide, without a server
  traffic::PatternRequest request = {};    ///< what the pattern is asked for
  std::optional<std::uint32_t> keys = {};  ///< the number of keys
  /// The costs of requests: one for traffic; for a search, refunds are below 0, and last.
  std::vector<std::int64_t> costs{1};
  std::optional<std::chrono::microseconds> start = {};
  bool is_real = false;                   ///< --clock real: requests are sent when they are due
  std::int64_t clients = 1;               ///< connections under the real clock, used in turn
  std::optional<SearchPlan> search = {};  ///< instead of traffic
  std::vector<ReportFile> files = {};     ///< to which the report is written
  bool quiet = false;

  const traffic::Pattern* pattern = nullptr;         ///< null: a log or a search
  std::optional<replay::ReplayOptions> replay = {};  ///< the log, instead of a pattern
  /// Find the limit that denies at most this share.
  std::optional<traffic::DeniedShare> suggest = {};
  std::vector<limiter::Limit> limits = {};  ///< with the requested burst
  /// Each with its own limits; scripts first, then programs.
  std::vector<traffic::Candidate> candidates = {};
  bool has_configured_script = false;            ///< one of them is from the configuration
  std::vector<std::string> command = {};         ///< repeats this plan
  std::vector<std::string> replay_command = {};  ///< replays a search's schedule
};

/// Whether one of the report's files has this format.
inline bool writes(const Plan& plan, ReportFormat format) {
  return std::ranges::any_of(plan.files, [=](const auto& file) { return file.format == format; });
}
/// Whether there are holders, of leases or of reservations, whose events follow from decisions.
inline bool has_holders(const Plan& plan) {
  return plan.concurrency || plan.reserve;
}
/// Whether one of the candidates is a program.
bool has_programs(const Plan& plan);

/// The origin of a search's times: the start of a window.
std::chrono::microseconds search_base(const Plan& plan);

/// Sets the rest of the plan. Throws UsageError if it cannot run, before anything starts.
void complete_plan(Plan& plan, const Invocation& invocation);

}  // namespace rlctl::cli::burst
