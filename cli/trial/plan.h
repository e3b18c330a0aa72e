#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "adversary/search.h"
#include "cli/options/exec_options.h"
#include "cli/options/limits.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "replay/recording.h"
#include "script/script.h"
#include "simulation/holders.h"
#include "simulation/suggestion.h"
#include "traffic/pattern.h"

namespace rlctl::cli::trial {

/// What the options say about leases.
struct LeasePlan {
  std::chrono::microseconds lease = std::chrono::seconds{30};
  simulation::HolderPlan hold{.hold = std::chrono::seconds{1}};
};

/// What the options say about reservations, besides LeasePlan's --hold and --crash.
struct BudgetPlan {
  simulation::HolderPlan spend{.hold = std::chrono::seconds{30},
                               .settle_after = std::chrono::seconds{1}};
};

/// The format of a file to which a report is written.
enum class ReportFormat { kSvg, kHtml, kJson, kJsonl, kLog };
struct ReportFile {
  ReportFormat format;
  std::string path;
};

/// The traffic of a burst: a pattern's or a log's. The options set the first part, the
/// command the rest.
struct TrafficPlan {
  ReplayArguments log = {};
  std::optional<std::uint32_t> keys = {};   ///< the number of keys
  std::optional<std::string> compare = {};  ///< the limiter to compare the only other one with
  std::optional<std::chrono::microseconds> start = {};
  bool is_real = false;  ///< --clock real: requests are sent when they are due

  const traffic::Pattern* pattern = nullptr;         ///< null: a log
  std::optional<replay::ReplayOptions> replay = {};  ///< the log
  /// Find the limit that denies at most this share.
  std::optional<simulation::DeniedShare> suggest = {};
};

/// How an adversary searches.
struct SearchPlan {
  std::int64_t tries = rlctl::adversary::kDefaultTries;  ///< requests against each limiter
  /// Tries every schedule of at most this many requests at critical times, instead of `tries`.
  std::optional<int> exhaustive = {};
  bool monotonic = false;  ///< --monotonic

  /// Replays the schedule; empty for a script that would be taken for a log.
  std::vector<std::string> replay_command = {};

  /// Whether it also tries a clock that steps back.
  bool steps_back() const noexcept { return !monotonic && !exhaustive; }
};

/// What `rlctl burst` or `rlctl adversary` will do. The options set the first part, the
/// command the rest.
struct Plan {
  /// What the limiters get.
  std::variant<TrafficPlan, SearchPlan> kind = {};
  // Texts whose meaning depends on other options.
  std::vector<std::string> limit_texts = {}, assertion_texts = {};
  std::optional<std::string> burst_text = {};
  LimitOrigins origins = {};  ///< of the limits, the burst and the costs
  ScriptOptions script = {};  ///< with the scripts among the operands
  ExecOptions exec = {};
  std::vector<const limiter::Algorithm*> algorithms = {};  ///< each once
  /// --concurrency: leases are asked for. Then the only limit is this number and --lease.
  std::optional<std::int64_t> concurrency = {};
  LeasePlan leases = {};
  /// --reserve: the units that each request reserves, and settles later.
  std::optional<std::int64_t> reserve = {};
  BudgetPlan budget = {};
  bool model = false;                    ///< the models decide, without a server
  traffic::PatternRequest request = {};  ///< what a pattern is asked for, and the seed
  /// The costs of requests: one for traffic; for a search, refunds are below 0, and last.
  std::vector<std::int64_t> costs{1};
  std::vector<ReportFile> files = {};  ///< to which the report is written
  bool quiet = false;

  std::vector<limiter::Limit> limits = {};  ///< with the requested burst
  /// Each with its own limits; scripts first, then programs.
  std::vector<script::Candidate> candidates = {};
  bool has_configured_script = false;     ///< one of them is from the configuration
  bool has_limit_of_script = false;       ///< no option says the limit, but a script
  std::vector<std::string> command = {};  ///< repeats this plan

  /// Null for a search.
  TrafficPlan* traffic() { return std::get_if<TrafficPlan>(&kind); }
  const TrafficPlan* traffic() const { return std::get_if<TrafficPlan>(&kind); }
  /// Null for traffic.
  SearchPlan* search() { return std::get_if<SearchPlan>(&kind); }
  const SearchPlan* search() const { return std::get_if<SearchPlan>(&kind); }
  /// Null for a log, and for a search.
  const traffic::Pattern* pattern() const {
    return traffic() != nullptr ? traffic()->pattern : nullptr;
  }
  bool is_real() const { return traffic() != nullptr && traffic()->is_real; }
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
inline std::chrono::microseconds search_base(const Plan& plan) {
  return traffic::window_from(plan.request.start, plan.limits.front());
}

}  // namespace rlctl::cli::trial
