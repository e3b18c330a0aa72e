#include "cli/commands/burst/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "adversary/exhaustive.h"
#include "adversary/search.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/options/values.h"
#include "traffic/template.h"

namespace rlctl::cli {
namespace {

std::int64_t parse_budget(const BurstOptions& options) {
  constexpr std::int64_t kMostBudget = 1'000'000'000'000;
  if (!options.budget) return adversary::kUsualBudget;
  return parse_between(*options.budget, "--budget", 1, kMostBudget);
}

/// Throws UsageError if so few requests cannot exceed the limit: then nothing would be proved.
std::optional<int> parse_exhaustive(const BurstOptions& options, const limiter::Limit& limit,
                                    std::span<const std::int64_t> costs) {
  constexpr std::int64_t kMost = 32;
  if (!options.exhaustive) return std::nullopt;
  const auto requests = parse_between(*options.exhaustive, "--exhaustive", 1, kMost);
  // A request that costs more than the limit is never allowed.
  std::int64_t largest = 0;
  for (const auto cost : costs) largest = cost <= limit.limit ? std::max(largest, cost) : largest;
  if (requests * largest > limit.limit) return static_cast<int>(requests);
  throw UsageError(
      fmt::format("--exhaustive: {} cannot exceed a limit of {}, so nothing would be proved",
                  counted(requests, "request"), limit.limit),
      fmt::format("use a smaller limit and more requests: --limit 2/{} --exhaustive 6",
                  format_duration(limit.window)));
}

/// A window must consist of whole ticks, so that the edges of windows are among the times.
std::chrono::microseconds parse_tick(const BurstOptions& options, const limiter::Limit& limit) {
  if (!options.tick) return std::chrono::microseconds{1};
  const auto tick = parse_duration_of(*options.tick, "--tick");
  if (tick.count() > 0 && limit.window % tick == tick.zero()) return tick;
  throw UsageError(fmt::format("--tick: a window of {} is not a multiple of {}",
                               format_duration(limit.window), format_duration(tick)),
                   "use the resolution of the limiter's clock: 1ms or 1s");
}

/// Throws UsageError if the times of a search may be later than the contract allows.
void require_room(const traffic::PatternRequest& request, const SearchPlan& search) {
  const adversary::SearchRequest searched{
      .limit = request.limit, .costs = search.costs, .budget = search.budget, .tick = search.tick};
  const auto latest = search.exhaustive ? adversary::latest_time(searched, *search.exhaustive)
                                        : adversary::latest_time(searched);
  // The base is the beginning of the next window.
  const auto needed = request.limit.window + latest;
  if (request.start + needed <= limiter::kLatestNow) return;
  throw UsageError(fmt::format("--start: the search needs {} before the year 2096, where the times "
                               "of the scripts end",
                               span_text(needed)),
                   "use an earlier time, or a smaller limit with a shorter window");
}

}  // namespace

std::vector<std::int64_t> parse_costs(const std::optional<std::string>& text) {
  std::vector<std::int64_t> costs;
  for (const auto& word : split_at_commas(text.value_or("1"))) {
    const auto cost = parse_between(word, "--cost", 1, limiter::kLargestCost);
    if (std::find(costs.begin(), costs.end(), cost) == costs.end()) costs.push_back(cost);
  }
  return costs;
}

void require_taken(const limiter::Algorithm& algorithm, const limiter::Limit& limit,
                   std::int64_t cost) {
  try {
    limiter::require_usable(algorithm, limit, cost);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--limit {}: {}", limiter::format_limit(limit), error.what()),
                     fmt::format("an --algorithm other than {} may accept it", algorithm.name));
  }
}

void require_costs(const traffic::Candidate& candidate, const SearchPlan& search) {
  if (search.costs.size() == 1) return;
  const bool refunds = search.costs.back() < 0;
  if (!candidate.foreign) {
    for (const auto cost : search.costs) {
      if (cost > 0) require_taken(*candidate.algorithm, candidate.limits.front(), cost);
    }
    if (!refunds || candidate.algorithm->has_refund) return;
    throw UsageError(fmt::format("{} does not support --refunds", candidate.algorithm->name),
                     "name others with --algorithm");
  }
  constexpr std::string_view kCost = "cost";
  const auto tells_cost = [&](const traffic::Template& text) { return text.holds(kCost); };
  const auto& script = *candidate.foreign;
  if (std::any_of(script.keys.begin(), script.keys.end(), tells_cost) ||
      std::any_of(script.arguments.begin(), script.arguments.end(), tells_cost)) {
    return;
  }
  throw UsageError(fmt::format("{} is not given the cost of a request, but there are several costs",
                               escape(script.name)),
                   "add {cost} to --args");
}

SearchPlan make_search_plan(const BurstOptions& options, const traffic::PatternRequest& request) {
  const auto costs = parse_costs(options.cost);
  SearchPlan search{.budget = parse_budget(options),
                    .tick = parse_tick(options, request.limit),
                    .costs = costs,
                    .steps_back = !options.no_stepping_back && !options.exhaustive,
                    .exhaustive = parse_exhaustive(options, request.limit, costs)};
  if (options.refunds) {
    for (const auto cost : costs) search.costs.push_back(-cost);
  }
  require_room(request, search);
  return search;
}

}  // namespace rlctl::cli
