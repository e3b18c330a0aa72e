#include "cli/burst/adversary_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/failure.h"

namespace rlctl::cli {
namespace {

constexpr std::int64_t kBudget = 50'000;
constexpr std::int64_t kMostBudget = 1'000'000'000'000;

}  // namespace

bool asks_adversary(const BurstOptions& options, const std::vector<std::string>& operands) {
  if (!options.replay.given()) return operands.size() == 1 && operands[0] == kAdversary;
  const bool is_named = std::find(operands.begin(), operands.end(), kAdversary) != operands.end();
  if (!is_named || std::filesystem::exists(kAdversary)) return false;
  throw UsageError(
      "--replay and adversary exclude each other: the search finds when requests are to come");
}

void require_searchable(const BurstOptions& options) {
  if (key_count(options)) {
    throw UsageError("--keys and adversary exclude each other: each schedule is of one key");
  }
  if (options.limits.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit");
  }
}

std::int64_t parse_budget(const BurstOptions& options) {
  if (!options.budget) return kBudget;
  return parse_between(*options.budget, "--budget", 1, kMostBudget);
}

}  // namespace rlctl::cli
