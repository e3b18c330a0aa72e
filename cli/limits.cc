#include "cli/limits.h"

#include "base/json.h"

#include <algorithm>

#include "base/text.h"

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
  const auto names = limiter::list_names(limiter::counts_requests);
  throw UsageError("--algorithm: unknown algorithm " + in_quotes(name) + did_you_mean(name, names),
                   "it is one of " + limiter::algorithm_names(limiter::counts_requests));
}

Limiter resolve_policy(const LimitOptions& options, std::int64_t cost,
                       ConfigurationSource& configuration) {
  const auto refuse = [](std::string_view name) {
    throw UsageError("--policy and " + std::string(name) +
                     " exclude each other: a policy has its own");
  };
  if (!options.limits.empty()) refuse("--limit");
  if (options.algorithm) refuse("--algorithm");
  if (options.burst) refuse("--burst");
  const auto& policy = configuration.policy(*options.policy);
  for (const auto& limit : policy.limits) limiter::require_usable(*policy.algorithm, limit, cost);
  return {.algorithm = policy.algorithm, .limits = policy.limits, .policy = &policy};
}

}  // namespace

void add_limit_options(Options& options, LimitOptions& target) {
  options.list("--limit", "LIMIT", target.limits,
               "how many in which time: 5/60s, 100/min, 1M/30d; several make one decision, in "
               "which all must allow");
  options.value("--algorithm", "NAME", target.algorithm, algorithm_text());
  options.value("--burst", "NUMBER", target.burst, burst_text());
  options.value("--policy", "NAME", target.policy,
                "the limit, algorithm and burst that the configuration has under this name; what "
                "follows are the arguments of its key");
}

std::string algorithm_help() {
  return list_algorithms(limiter::kDefaultAlgorithm);
}

std::string list_algorithms(std::string_view default_name) {
  constexpr std::size_t kColumn = 26;
  std::string out = "\nAlgorithms:\n";
  for (const auto& algorithm : limiter::algorithms()) {
    if (!limiter::counts_requests(algorithm)) continue;
    std::string line = "  " + std::string(algorithm.name);
    line.append(kColumn - std::min(line.size(), kColumn - 1), ' ').append(algorithm.summary);
    if (algorithm.name == default_name) line += " (default)";
    out.append(line).append("\n");
  }
  return out;
}

Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost,
                        ConfigurationSource& configuration) {
  if (options.policy) return resolve_policy(options, cost, configuration);
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
    if (options.burst) limit.burst = parse_whole(masked(*options.burst), "--burst");
    limiter::require_usable(*result.algorithm, limit, cost);
    result.limits.push_back(limit);
  }
  // Two limits with the same window would be one key: said now, not at the first request.
  parsed("--limit", [&] { return limiter::redis_keys("key", result.limits); });
  return result;
}

std::optional<Limiter> resolve_optional_limiter(const LimitOptions& options,
                                                ConfigurationSource& configuration) {
  if (options.policy || !options.limits.empty()) return resolve_limiter(options, 1, configuration);
  const auto refuse = [](std::string_view name) {
    throw UsageError(std::string(name) + " says nothing without --limit",
                     "--limit 5/60s allows 5 in any 60 seconds");
  };
  if (options.algorithm) refuse("--algorithm");
  if (options.burst) refuse("--burst");
  return std::nullopt;
}

std::vector<std::string> asked_keys(const Limiter* limiter, std::span<const std::string> operands) {
  const auto* policy = limiter == nullptr ? nullptr : limiter->policy;
  const auto is_empty = [](const std::string& operand) { return operand.empty(); };
  if (std::any_of(operands.begin(), operands.end(), is_empty)) {
    throw UsageError(policy == nullptr ? "KEY is empty"
                                       : "an argument of policy '" + policy->name + "' is empty",
                     "is the variable set?");
  }
  if (policy == nullptr) return {operands.begin(), operands.end()};
  const auto count = limiter::argument_count(*policy);
  const bool good =
      count == 0 ? operands.empty() : !operands.empty() && operands.size() % count == 0;
  if (!good) throw UsageError(takes_arguments(*policy) + but_given(operands));
  if (count == 0) return {limiter::fill(*policy, {})};
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < operands.size(); i += count) {
    keys.push_back(limiter::fill(*policy, operands.subspan(i, count)));
  }
  return keys;
}

std::string takes_arguments(const limiter::Policy& policy) {
  const auto count = limiter::argument_count(policy);
  return "policy '" + policy.name + "' (key " + policy.key + ") takes " +
         (count == 0 ? "no" : std::to_string(count)) + (count == 1 ? " argument" : " arguments");
}

std::string but_given(std::span<const std::string> operands) {
  if (operands.empty()) return ", and none is given";
  std::string out = ", not " + std::to_string(operands.size());
  for (const auto& operand : operands) {
    out.append(&operand == operands.data() ? ": " : ", ").append(in_quotes(operand));
  }
  return out;
}

void append_limit_fields(std::string& out, const limiter::Algorithm& algorithm,
                         const limiter::Limit& limit) {
  JsonWriter(out)
      .field("limit", limit.limit)
      .field("window_us", limit.window)
      .field("burst", limiter::effective_burst(algorithm, limit));
}

}  // namespace rlctl::cli
