#include "cli/options/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "cli/terminal/table.h"

namespace rlctl::cli {
namespace {

/// Of an option that needs --limit, whatever the algorithm.
constexpr const char* kLimitExample = "--limit 5/60s stands for 5 requests in 60 seconds";

/// The end of an error that takes_arguments() begins: ", not 2: 'a', 'b'".
std::string but_given(std::span<const std::string> operands) {
  if (operands.empty()) return ", but none was given";
  std::string out = ", not " + std::to_string(operands.size());
  for (const auto& operand : operands) {
    out.append(&operand == operands.data() ? ": " : ", ").append(quoted_and_masked(operand));
  }
  return out;
}

constexpr JsonField<AppliedLimit> kLimitFields[] = {
    {"limit", json_type::kLimit, {}, [](const auto& of) { return of.limit.limit; }},
    {"window_us", json_type::kWindow, {}, [](const auto& of) { return of.limit.window; }},
    {"calendar?",
     json_type::kCalendar,
     {},
     [](const auto& of) { return limiter::text_of(of.limit.calendar); }},
    {"burst", json_type::kBurstOrNull,
     "The requests allowed at once; null if the algorithm has no burst.",
     [](const auto& of) { return limiter::effective_burst(of.algorithm, of.limit); }},
};
constexpr JsonField<LimitOfKey> kLimitOfKeyFields[] = {
    {"key", json_type::kBytes, "The key in Redis of this limit.",
     [](const auto& of) { return JsonBytes{of.key}; }},
    {kLimitJson, [](const auto& of) { return of.applied; }},
};

}  // namespace

void add_limits_of_key(Options& options, LimitOptions& target) {
  options
      .list("--limit", "LIMIT", target.limits,
            "requests and window: 5/60s, 100/min (also 1M/30d, 9/month@Europe/Zurich); if there "
            "are several, all must allow the request")
      .splits_at_commas()
      .completes(complete_limit);
  options
      .value("--policy", "NAME", target.policy,
             "use this policy of the configuration (its limit, algorithm and burst; the arguments "
             "fill in its key)")
      .completes(complete_policy)
      .excludes_each({"--limit", "--algorithm", "--burst"}, kPolicyDefinesIt);
}

void add_burst_of_key(Options& options, LimitOptions& target) {
  options
      .value("--burst", "NUMBER", target.burst,
             "the burst of another library's bucket, which does not store it (default: the limit)")
      .needs("--limit", "", kLimitExample);
}

void add_limit_options(Options& options, LimitOptions& target, bool required) {
  add_limits_of_key(options, target);
  auto algorithm = options.value(
      "--algorithm", "NAME", target.algorithm,
      required
          ? fmt::format("how to limit; see below (default: {}; {} for a window of the calendar)",
                        limiter::kDefaultAlgorithm, limiter::kDefaultForCalendar)
          : "the algorithm that the key should have; see below");
  algorithm.completes(complete_counting_algorithm);
  auto burst = options.value("--burst", "NUMBER", target.burst,
                             "requests allowed at once (by " +
                                 one_of(limiter::list_names(limiter::has_burst), "and") +
                                 ", for each limit; default: the limit)");
  if (required) return;
  algorithm.needs("--limit", "", kLimitExample);
  burst.needs("--limit", "", kLimitExample);
}

std::string algorithm_help() {
  return list_algorithms(limiter::kDefaultAlgorithm);
}

std::string list_algorithms(std::string_view default_name) {
  std::vector<HelpRow> rows;
  for (const auto& algorithm : limiter::algorithms()) {
    if (!limiter::counts_requests(algorithm)) continue;
    const auto note = algorithm.name == default_name ? " (default)" : "";
    rows.push_back({std::string(algorithm.name), std::string(algorithm.summary) + note});
  }
  return help_section("Algorithms", rows);
}

std::string limit_hint(std::span<const std::string> operands, std::string example) {
  for (const auto& operand : operands) {
    try {
      static_cast<void>(limiter::parse_limit(operand));
      return "did you mean --limit " + operand + "?";
    } catch (const UsageError&) {
      continue;
    }
  }
  return example;
}

Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost,
                        ConfigurationSource& configuration, std::span<const std::string> operands) {
  Limiter result;
  if (options.policy) {
    const auto& policy = configuration.policy(*options.policy);
    result = {.algorithm = policy.algorithm, .limits = policy.limits, .policy = &policy};
  } else {
    if (options.algorithm) {
      result.algorithm = &parse_algorithm(*options.algorithm);
    } else if (options.for_reservations) {
      result.algorithm = limiter::find_algorithm("budget");
    }
    if (options.limits.empty()) {
      const auto& algorithm =
          result.algorithm != nullptr ? *result.algorithm : limiter::default_algorithm({});
      throw UsageError("--limit is missing",
                       limit_hint(operands, fmt::format("--limit 5/60s {}", algorithm.example)));
    }
    result.limits = parse_limits(options.limits, options.burst);
    if (result.algorithm == nullptr) {
      result.algorithm = &limiter::default_algorithm(result.limits);
    }
  }
  for (const auto& limit : result.limits) limiter::require_usable(*result.algorithm, limit, cost);
  if (options.for_reservations) limiter::require_reservations(*result.algorithm);
  return result;
}

std::vector<limiter::Limit> parse_limits(std::span<const std::string> texts,
                                         const std::optional<std::string>& burst,
                                         const LimitOrigins& origins) {
  std::vector<limiter::Limit> limits;
  for (const auto& text : texts) {
    limits.push_back(parsed(origins.limit, [&] { return limiter::parse_limit(text); }));
    if (burst) limits.back().burst = parse_whole(*burst, origins.burst.place);
  }
  parsed(origins.limit, [&] { limiter::require_different_windows(limits); });
  return limits;
}

const limiter::Algorithm& parse_algorithm(const std::string& name) {
  if (const auto* algorithm = limiter::find_algorithm(name)) {
    if (limiter::counts_requests(*algorithm)) return *algorithm;
    parsed("--algorithm", [&] { limiter::require_usable(*algorithm, {}); });
  }
  refuse_word("--algorithm: unknown algorithm " + quoted_and_masked(name), name,
              limiter::list_names(limiter::counts_requests));
}

std::optional<Limiter> resolve_optional_limiter(const LimitOptions& options,
                                                ConfigurationSource& configuration) {
  if (options.policy) return resolve_limiter(options, 1, configuration);
  if (options.limits.empty()) return std::nullopt;
  Limiter result{.limits = parse_limits(options.limits, options.burst)};
  const auto& any_with_burst =
      *std::find_if(limiter::algorithms().begin(), limiter::algorithms().end(), limiter::has_burst);
  for (const auto& limit : result.limits) {
    if (limit.burst) limiter::require_usable(any_with_burst, limit);
  }
  return result;
}

std::string only_key(const Limiter& limiter, std::span<const std::string> operands,
                     std::string example, std::string several) {
  if (limiter.policy != nullptr) {
    if (operands.size() > limiter::argument_count(*limiter.policy)) {
      throw UsageError(takes_arguments(*limiter.policy) + but_given(operands));
    }
  } else if (operands.empty()) {
    throw UsageError("no KEY given", std::move(example));
  } else if (operands.size() > 1) {
    throw UsageError("expected one KEY, but got " + std::to_string(operands.size()) +
                         ": the second is " + quoted_and_masked(operands[1]),
                     std::move(several));
  }
  return asked_keys(&limiter, operands).front();
}

std::vector<std::string> asked_keys(const Limiter* limiter, std::span<const std::string> operands) {
  const auto* policy = limiter == nullptr ? nullptr : limiter->policy;
  for (const auto& operand : operands) {
    require_not_empty(operand,
                      policy == nullptr ? "KEY" : "an argument of policy '" + policy->name + "'");
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

void require_lengths(std::span<const limiter::Limit> limits, std::string_view what,
                     const ValueOrigin& origin) {
  for (const auto& limit : limits) {
    if (limit.calendar == nullptr) continue;
    refuse_value(
        origin,
        fmt::format("{} takes no window of the calendar, such as {}", what, limit.calendar->text()),
        fmt::format("use one of a fixed length: {}",
                    limiter::format_limit({.limit = limit.limit, .window = limit.window})));
  }
}

std::string takes_arguments(const limiter::Policy& policy) {
  const auto count = limiter::argument_count(policy);
  return "policy '" + policy.name + "' (key " + policy.key + ") takes " +
         (count == 0 ? "no" : std::to_string(count)) + (count == 1 ? " argument" : " arguments");
}

constinit const JsonObject<AppliedLimit> kLimitJson(kLimitFields);
constinit const JsonObject<LimitOfKey> kLimitOfKeyJson(kLimitOfKeyFields);

}  // namespace rlctl::cli
