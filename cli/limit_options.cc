#include "cli/limit_options.h"

#include "cli/suggest.h"

namespace rlctl::cli {
namespace {

const limiter::Algorithm& resolve_algorithm(const std::string& name) {
  if (const auto* algorithm = limiter::find_algorithm(name)) return *algorithm;
  std::vector<std::string_view> names;
  for (const auto& algorithm : limiter::algorithms()) {
    if (algorithm.other_contract.empty()) names.push_back(algorithm.name);
  }
  throw UsageError("--algorithm: unknown algorithm '" + name + "'" + did_you_mean(name, names),
                   "it is one of " + one_of(names));
}

}  // namespace

void add_limit_options(Options& options, LimitOptions& target) {
  options.list("--limit", "LIMIT", target.limits,
               "how many in which time: 5/60s, 100/min, 1M/30d; several make one decision, in "
               "which all must allow");
  options.value("--algorithm", "NAME", target.algorithm,
                "fixed-window, sliding-window-log (the default), sliding-window-zset, "
                "sliding-window-counter, token-bucket, gcra or leaky-bucket");
  options.value("--burst", "NUMBER", target.burst,
                "how many may come at once: token-bucket, gcra, leaky-bucket; for each limit "
                "(default: as many as the limit)");
}

Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost) {
  Limiter result;
  result.algorithm =
      &resolve_algorithm(options.algorithm.value_or(std::string(limiter::kDefaultAlgorithm)));
  if (!result.algorithm->other_contract.empty()) {
    parsed("--algorithm", [&] { limiter::require_usable(*result.algorithm, {}, cost); });
  }
  if (options.limits.empty()) {
    throw UsageError("--limit is missing", "--limit 5/60s allows 5 in any 60 seconds");
  }
  for (const auto& text : options.limits) {
    auto limit = parsed("--limit", [&] { return limiter::parse_limit(text); });
    if (options.burst) limit.burst = limiter::parse_whole(*options.burst, "--burst");
    limiter::require_usable(*result.algorithm, limit, cost);
    result.limits.push_back(limit);
  }
  // Two limits with the same window would be one key: said now, not at the first request.
  parsed("--limit", [&] { return limiter::redis_keys("key", result.limits); });
  return result;
}

std::optional<std::int64_t> effective_burst(const limiter::Algorithm& algorithm,
                                            const limiter::Limit& limit) {
  if (!algorithm.has_burst) return std::nullopt;
  return limit.burst.value_or(limit.limit);
}

}  // namespace rlctl::cli
