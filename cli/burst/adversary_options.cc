#include "cli/burst/adversary_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/failure.h"
#include "cli/option_values.h"

namespace rlctl::cli {
namespace {

constexpr std::int64_t kBudget = 50'000;
constexpr std::int64_t kMostBudget = 1'000'000'000'000;

void refuse(bool given, std::string_view option, std::string_view why) {
  if (!given) return;
  throw UsageError(fmt::format("{} is not for adversary: {}", option, why), "leave it out");
}

}  // namespace

bool asks_adversary(const BurstOptions& options, const std::vector<std::string>& operands) {
  if (!options.replay.given()) return operands.size() == 1 && operands[0] == kAdversary;
  const bool is_named = std::find(operands.begin(), operands.end(), kAdversary) != operands.end();
  if (!is_named || std::filesystem::exists(kAdversary)) return false;
  throw UsageError("--replay is not for adversary: it finds when requests are to come",
                   "leave out --replay, or adversary");
}

void refuse_traffic_options(const BurstOptions& options) {
  constexpr std::string_view kTimes = "it finds when requests are to come";
  constexpr std::string_view kVirtual = "no real time is long enough for so many windows";
  constexpr std::string_view kOneKey = "each schedule is of one key";
  constexpr std::string_view kTable = "what it finds is a small table; --json has all of it";
  refuse(options.rate.has_value(), "--rate", kTimes);
  refuse(options.duration.has_value(), "--duration", kTimes);
  refuse(options.requests.has_value(), "--requests", "--budget says how many it may try");
  refuse(key_count(options).has_value(), "--keys", kOneKey);
  refuse(options.key_skew.has_value(), "--key-skew", kOneKey);
  refuse(options.clock == "real", "--clock real", kVirtual);
  refuse(options.clients.has_value(), "--clients", kVirtual);
  refuse(options.pipeline.has_value(), "--pipeline", kVirtual);
  refuse(options.svg.has_value(), "--svg", kTable);
  refuse(options.csv.has_value(), "--csv", kTable);
  refuse(options.jsonl.has_value(), "--jsonl", kTable);
  if (options.limits.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit",
                     "give one");
  }
}

std::int64_t parse_budget(const BurstOptions& options) {
  if (!options.budget) return kBudget;
  return parse_between(*options.budget, "--budget", 1, kMostBudget);
}

void refuse_adversary_options(const BurstOptions& options) {
  const auto* given = options.budget ? "--budget" : options.write ? "--write" : nullptr;
  if (given == nullptr) return;
  throw UsageError(fmt::format("{} is for the search: rlctl burst adversary", given),
                   "leave it out, or name adversary as the pattern");
}

}  // namespace rlctl::cli
