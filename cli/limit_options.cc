#include "cli/limit_options.h"

#include <algorithm>

#include "limiter/suggest.h"

namespace rlctl::cli {
namespace {

// Options keeps no copy of a help text.

std::string_view algorithm_text() {
  static const std::string kText =
      "which one, see below; " + std::string(limiter::kDefaultAlgorithm) + " if not given";
  return kText;
}

std::string_view burst_text() {
  static const std::string kText = "how many may come at once in " +
                                   limiter::algorithm_names(limiter::has_burst, "and") +
                                   ", for each limit (default: as many as the limit)";
  return kText;
}

const limiter::Algorithm& resolve_algorithm(const std::string& name) {
  if (const auto* algorithm = limiter::find_algorithm(name)) return *algorithm;
  std::vector<std::string_view> names;
  for (const auto& algorithm : limiter::algorithms()) {
    if (limiter::counts_requests(algorithm)) names.push_back(algorithm.name);
  }
  throw UsageError(
      "--algorithm: unknown algorithm " + in_quotes(name) + limiter::did_you_mean(name, names),
      "it is one of " + limiter::algorithm_names(limiter::counts_requests));
}

}  // namespace

void add_limit_options(Options& options, LimitOptions& target) {
  options.list("--limit", "LIMIT", target.limits,
               "how many in which time: 5/60s, 100/min, 1M/30d; several make one decision, in "
               "which all must allow");
  options.value("--algorithm", "NAME", target.algorithm, algorithm_text());
  options.value("--burst", "NUMBER", target.burst, burst_text());
}

std::string algorithm_help() {
  constexpr std::size_t kColumn = 26;
  std::string out = "\nAlgorithms:\n";
  for (const auto& algorithm : limiter::algorithms()) {
    if (!limiter::counts_requests(algorithm)) continue;
    std::string line = "  " + std::string(algorithm.name);
    line.append(kColumn - std::min(line.size(), kColumn - 1), ' ').append(algorithm.summary);
    if (algorithm.name == limiter::kDefaultAlgorithm) line += " (default)";
    out.append(line).append("\n");
  }
  return out;
}

Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost) {
  Limiter result;
  result.algorithm =
      &resolve_algorithm(options.algorithm.value_or(std::string(limiter::kDefaultAlgorithm)));
  if (!limiter::counts_requests(*result.algorithm)) {
    parsed("--algorithm", [&] { limiter::require_usable(*result.algorithm, {}, cost); });
  }
  if (options.limits.empty()) {
    throw UsageError("--limit is missing", "--limit 5/60s allows 5 in any 60 seconds");
  }
  for (const auto& text : options.limits) {
    auto limit = parsed("--limit", [&] { return limiter::parse_limit(masked(text)); });
    if (options.burst) limit.burst = limiter::parse_whole(masked(*options.burst), "--burst");
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
