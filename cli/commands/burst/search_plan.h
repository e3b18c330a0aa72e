#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/burst/options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "traffic/pattern.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// How `rlctl burst adversary` searches.
struct SearchPlan {
  std::int64_t budget = 0;             ///< requests against each limiter
  std::chrono::microseconds tick{1};   ///< times are multiples of this
  std::vector<std::int64_t> costs{1};  ///< refunds are below 0, and last
  bool steps_back = true;              ///< also with a clock that steps back
  /// Tries every schedule of at most this many requests at critical times, instead of `budget`.
  std::optional<int> exhaustive = {};
};

/// The search for these options, with the limit and the start of the request. Throws UsageError if
/// it cannot run.
[[nodiscard]] SearchPlan make_search_plan(const BurstOptions& options,
                                          const traffic::PatternRequest& request);
/// The values of --cost, of which a pattern takes only one: without duplicates, in the order of
/// first mention. Throws UsageError.
[[nodiscard]] std::vector<std::int64_t> parse_costs(const std::optional<std::string>& text);
/// Throws UsageError, which names the limit and the algorithm, since there may be several of each.
void require_taken(const limiter::Algorithm& algorithm, const limiter::Limit& limit,
                   std::int64_t cost);
/// Throws UsageError for a limiter that does not take every cost of a search.
void require_costs(const traffic::Candidate& candidate, const SearchPlan& search);

}  // namespace rlctl::cli
