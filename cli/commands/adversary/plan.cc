#include "cli/commands/adversary/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "adversary/search.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/adversary/holders.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/trial/holders.h"
#include "cli/trial/limiters.h"
#include "script/template.h"

namespace rlctl::cli::adversary {
namespace {

using trial::Plan;
using trial::ReportFormat;

/// Throws UsageError if the search cannot find anything, since it has too few requests to exceed
/// the limit.
void require_conclusive(const Plan& plan) {
  const auto& exhaustive = plan.search()->exhaustive;
  const auto& limit = plan.request.limit;
  // A request that costs more than the limit is never allowed.
  std::int64_t largest = 0;
  for (const auto cost : plan.costs) {
    if (cost <= limit.limit) largest = std::max(largest, cost);
  }
  if (!exhaustive || *exhaustive * largest > limit.limit) return;
  throw UsageError(
      fmt::format("--exhaustive: {} cannot exceed a limit of {}, so nothing would be proved",
                  counted(*exhaustive, "request"), limit.limit),
      fmt::format("use a smaller limit and more requests: --limit 2/{} --exhaustive 6",
                  format_duration(limit.window)));
}

/// Throws UsageError if the tries are too few for the limit, or if the times of a search may be
/// later than the contract allows.
void require_room(const Plan& plan, const Options& given) {
  const auto& request = plan.request;
  const auto& search = *plan.search();
  const rlctl::adversary::SearchRequest searched{.limit = request.limit,
                                                 .costs = plan.costs,
                                                 .tries = search.tries,
                                                 .exhaustive = search.exhaustive};
  constexpr std::string_view kTries = "--tries";
  if (!search.exhaustive) {
    parsed(given.is_given(kTries) ? ValueOrigin{std::string(kTries)} : plan.origins.limit,
           [&] { rlctl::adversary::require_enough_tries(searched); });
  }
  // The base is the beginning of the next window.
  const auto needed = request.limit.window + rlctl::adversary::latest_time(searched);
  if (request.start + needed <= limiter::kLatestNow) return;
  refuse_value(plan.origins.limit,
               fmt::format("the search needs {} before the year 2096, where the times of the "
                           "scripts end",
                           span_text(needed)),
               "use a smaller limit with a shorter window");
}

/// Throws UsageError for a limiter that does not take every cost of a search.
void require_costs_of_search(const script::Candidate& candidate,
                             const std::vector<std::int64_t>& costs, const LimitOrigins& origins) {
  const bool is_for_all = costs.size() == 1 && (!candidate.foreign || costs.front() == 1);
  if (is_for_all || candidate.program) return;
  if (!candidate.foreign) {
    for (const auto cost : costs) {
      if (cost <= 0) continue;
      trial::require_taken(*candidate.algorithm, candidate.limits.front(), cost, origins);
    }
    if (costs.back() >= 0 || candidate.algorithm->has_refund) return;
    refuse_value(origins.cost.with(std::to_string(costs.back())),
                 fmt::format("{} takes no refunds", candidate.algorithm->name),
                 "name others, or leave out the refund");
  }
  constexpr std::string_view kCost = "cost";
  const auto tells_cost = [&](const script::Template& text) { return text.holds(kCost); };
  const auto& script = *candidate.foreign;
  if (std::ranges::any_of(script.keys, tells_cost)) return;
  if (std::ranges::any_of(script.arguments, tells_cost)) return;
  refuse_value(origins.cost.with(fmt::format("{}", fmt::join(costs, ","))),
               fmt::format("{} is not given the cost of a request", escape(script.name)),
               "add {cost} to args");
}

/// Throws UsageError for limiters that cannot be searched, and for several of them with a log,
/// which has the schedule of one.
void require_searchable_limiters(const Plan& plan) {
  if (writes(plan, ReportFormat::kLog) && plan.candidates.size() > 1) {
    throw UsageError(fmt::format("--write requires one limiter, not {}", plan.candidates.size()),
                     "name one: an algorithm, a script, or an --exec");
  }
  for (const auto& candidate : plan.candidates) {
    require_costs_of_search(candidate, plan.costs, plan.origins);
  }
}

void require_costs(const Plan& plan) {
  const auto& origin = plan.origins.cost;
  require_cost_above_0(plan.costs, origin);
  if (plan.costs.back() > 0 || !writes(plan, ReportFormat::kLog)) return;
  refuse_both(origin.with(std::to_string(plan.costs.back())).place, "--write",
              "a log has only costs above 0");
}

/// The command that repeats the search, and the one that replays its schedule from the file of
/// --write, against the same limiters.
void set_commands(Plan& plan, const Invocation& invocation) {
  auto& search = *plan.search();
  auto values = trial::resolved_limiters(plan, invocation);
  if (plan.reserve) values["--hold"] = {format_duration(plan.budget.spend.hold)};
  auto repeated = values;
  if (!search.exhaustive) {
    repeated["--seed"] = {std::to_string(plan.request.seed)};
    repeated["--tries"] = {std::to_string(search.tries)};
  }
  plan.command = {"rlctl", "adversary"};
  append_repeated(plan.command, plan, invocation, repeated);
  for (const auto* option : {"--seed", "--tries", "--cost", "--exhaustive", "--monotonic"}) {
    values[option] = {};
  }
  const auto log = std::ranges::find(plan.files, ReportFormat::kLog, &trial::ReportFile::format);
  const bool is_file = log != plan.files.end() && log->path != "-";
  const auto is_named = [&](const std::string& script) {
    return trial::is_limiter(script, invocation.configuration);
  };
  if (!std::ranges::all_of(plan.script.scripts, is_named)) return;
  search.replay_command = {"rlctl", "burst"};
  append_repeated(search.replay_command, plan, invocation, values);
  search.replay_command.insert(search.replay_command.end(),
                               {"--replay", is_file ? log->path : "FILE"});
}

}  // namespace

void complete_plan(Plan& plan, const Invocation& invocation) {
  for (const auto& word : invocation.operands)
    trial::add_limiter(plan, word, invocation.configuration);
  if (plan.script.scripts.empty()) refuse_words_without_script(plan.script);
  trial::require_algorithms(plan);
  if (plan.limit_texts.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit");
  }
  if (has_holders(plan)) require_holder_search(plan);
  const auto scripts = read_scripts(plan.script, invocation.configuration, "");
  trial::set_limits(plan, scripts.limiters, invocation.options, kDefaultLimit);
  require_costs(plan);
  if (plan.reserve) trial::complete_budget(plan);
  plan.request.limit = plan.limits.front();
  plan.request.cost = plan.costs.front();
  require_lengths(plan.limits, "adversary", plan.origins.limit);
  if (has_holders(plan)) {
    require_conclusive_holders(plan);
  } else {
    require_conclusive(plan);
    require_room(plan, invocation.options);
  }
  trial::add_limiters_named(plan, scripts, invocation, false);
  require_searchable_limiters(plan);
  set_commands(plan, invocation);
}

}  // namespace rlctl::cli::adversary
