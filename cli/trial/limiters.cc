#include "cli/trial/limiters.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <span>

#include "base/text.h"
#include "base/time.h"
#include "cli/options/limits.h"
#include "cli/options/log_options.h"
#include "cli/server/connection.h"
#include "cli/trial/holders.h"
#include "limiter/algorithm.h"
#include "redis/url.h"
#include "script/template.h"

namespace rlctl::cli::trial {
namespace {

using limiter::Algorithm;

/// Adds the algorithm unless it is there.
void add_once(std::vector<const Algorithm*>& chosen, const Algorithm& algorithm) {
  if (std::ranges::find(chosen, &algorithm) == chosen.end()) chosen.push_back(&algorithm);
}

std::uint64_t parse_seed(const std::string& text) {
  return static_cast<std::uint64_t>(parse_between(text, "--seed", 0, INT64_MAX));
}

void add_programs(Plan& plan) {
  if (has_programs(plan)) require_lengths(plan.limits, "--exec", plan.origins.limit);
  for (auto& program : parse_programs(plan.exec)) {
    plan.candidates.push_back(
        {.limits = plan.limits,
         .program = std::make_shared<const script::ProgramLimiter>(std::move(program))});
  }
}

/// The algorithms if no limiter is named.
std::vector<const Algorithm*> default_algorithms(const Plan& plan) {
  if (plan.concurrency) return {limiter::find_algorithm("concurrency")};
  if (plan.reserve) return {limiter::find_algorithm("budget")};
  const auto* first = limiter::find_algorithm("fixed-window");
  const auto* by_default = &limiter::default_algorithm(plan.limits);
  if (by_default == first) return {first};
  return {first, by_default};
}

/// Throws UsageError for a word of --head that is about holders, if there are none.
void require_holders_for_head(const Plan& plan, const ScriptOptions& options) {
  const auto require = [&](std::string_view word, bool has_holders, std::string_view option) {
    const auto said = options.words.find(word);
    if (has_holders || said == options.words.end()) return;
    if (said->second.source != WordSource::kHeadOption) return;
    throw UsageError(fmt::format("{} requires {}", said->second.origin.place, option));
  };
  require("release", plan.concurrency.has_value(), "--concurrency");
  require("settle", plan.reserve.has_value(), "--reserve");
}

/// A word about the traffic, which is one for all limiters.
struct TrafficWord {
  std::string_view name, option;
  /// A text that is the same for all values with the same meaning, such as 5/60s and 5/min.
  std::string (*meaning)(const std::string& value);
};

constexpr TrafficWord kLimitWord{"limit", "--limit", [](const auto& value) {
                                   return limiter::format_limit(limiter::parse_limit(value));
                                 }};
constexpr TrafficWord kBurstWord{"burst", "--burst", [](const auto& value) {
                                   return std::to_string(parse_whole(value, "burst"));
                                 }};
constexpr TrafficWord kCostWord{"cost", "--cost", [](const auto& value) {
                                  return fmt::format("{}", fmt::join(parse_costs(value), ","));
                                }};

/// The value of a word in the heads of the scripts, and its origin; none if no head has the word.
/// Throws UsageError if two values differ in meaning.
std::optional<WordValue> agreed(std::span<const NamedLimiter> scripts, const TrafficWord& word) {
  const NamedLimiter* first = nullptr;
  for (const auto& script : scripts) {
    const auto* said = script.options.find(word.name);
    if (said == nullptr) continue;
    if (first == nullptr) first = &script;
    const auto& other = *first->options.find(word.name);
    if (word.meaning(*said) == word.meaning(other)) continue;
    refuse_value(script.options.origin_of(word.name),
                 fmt::format("{} is not {}, the {} of {}", escape(*said), escape(other), word.name,
                             escape(name_of(first->candidate))),
                 fmt::format("pass one for both: {} {}", word.option, escape(*said)));
  }
  if (first == nullptr) return std::nullopt;
  return first->options.words.at(word.name);
}

/// Sets the limit, the burst and the costs that no option says to what the scripts say. A budget
/// has neither a burst nor costs.
void take_from_scripts(Plan& plan, std::span<const NamedLimiter> scripts, const Options& given) {
  auto& origins = plan.origins;
  if (!given.is_given("--limit")) {
    if (const auto limit = agreed(scripts, kLimitWord)) {
      plan.limit_texts = {limit->text};
      plan.has_limit_of_script = true;
      origins.limit = limit->origin;
    }
  }
  if (plan.reserve) return;
  if (!plan.burst_text) {
    if (const auto burst = agreed(scripts, kBurstWord)) {
      plan.burst_text = burst->text;
      origins.burst = burst->origin;
    }
  }
  if (plan.search() == nullptr || given.is_given("--cost")) return;
  if (const auto costs = agreed(scripts, kCostWord)) {
    plan.costs = parse_costs(costs->text);
    origins.cost = costs->origin;
  }
}

/// The operands that name the limiters.
std::vector<std::string> limiter_operands(const Plan& plan) {
  std::vector<std::string> words;
  for (const auto& script : plan.script.scripts) words.push_back(script_operand(script));
  std::vector<std::string_view> names;
  for (const auto* algorithm : plan.algorithms) names.push_back(algorithm->name);
  if (names == limiter::list_names(limiter::counts_requests)) names = {kAllAlgorithms};
  words.insert(words.end(), names.begin(), names.end());
  return words;
}

/// The names of limiters that need no file.
std::vector<std::string_view> limiter_names(ConfigurationSource& configuration) {
  auto names = limiter::list_names(nullptr);
  names.push_back(kAllAlgorithms);
  for (const auto& script : configuration.scripts().scripts) names.push_back(script.name);
  return names;
}

}  // namespace

// ---- Declarations ----

void add_limiters(Options& options, Plan& plan, std::string_view limit_help) {
  options.group("Limiters");
  options.list("--limit", "LIMIT", plan.limit_texts, limit_help).splits_at_commas();
  add_script_options(options, plan.script);
  add_exec_options(options, plan.exec);
  options.value("--burst", "NUMBER", plan.burst_text,
                "requests that may come at once; for algorithms with a burst (default: the limit)");
  options.flag("--model", plan.model, "ask the models in C++ instead of the scripts; fast")
      .excludes_each({"--url", "--host", "--port", "--socket"});
}

Option add_seed(Options& options, Plan& plan) {
  return options.value("--seed", "NUMBER", into(plan.request.seed, parse_seed),
                       "seed for the random generator (default: 1)");
}

// ---- Limiters as operands ----

void add_limiter(Plan& plan, const std::string& word, ConfigurationSource& configuration,
                 std::span<const std::string_view> patterns) {
  require_not_empty(word, "the name of a limiter");
  if (const auto* algorithm = limiter::find_algorithm(word)) {
    return add_once(plan.algorithms, *algorithm);
  }
  if (word == kAllAlgorithms) {
    for (const auto& algorithm : limiter::algorithms()) {
      if (limiter::counts_requests(algorithm)) add_once(plan.algorithms, algorithm);
    }
    return;
  }
  if (is_script_file(word) || configuration.script(word) != nullptr ||
      ::access(word.c_str(), F_OK) == 0) {
    return plan.script.scripts.push_back(word);
  }
  std::vector<std::string_view> names(patterns.begin(), patterns.end());
  std::ranges::copy(limiter_names(configuration), std::back_inserter(names));
  const bool is_template = word == "," || word.find('{') != word.npos;
  throw UsageError(
      fmt::format("no {}algorithm or script {}{}", patterns.empty() ? "" : "pattern, ",
                  quoted_and_masked(word), is_template ? "" : did_you_mean(word, names)),
      is_template ? "KEYS and ARGV are --keys KEY and --args 'ARG ARG', which is one word"
      : word == "adversary"
          ? "to search for the worst traffic: rlctl adversary"
          : fmt::format("expected one of: {}; for a file, write ./{}", one_of(names), word));
}

void require_log_file(const std::string& word, ConfigurationSource& configuration) {
  if (word.empty() || word == kStandardInput || ::access(word.c_str(), F_OK) == 0) return;
  if (errno != ENOENT) return;
  throw UsageError(fmt::format("no limiter and no file {}{}", quoted_and_masked(word),
                               did_you_mean(word, limiter_names(configuration))),
                   "the operands beside --replay are limiters, and further files of the log");
}

bool is_limiter(const std::string& word, ConfigurationSource& configuration) {
  return limiter::find_algorithm(word) != nullptr || word == kAllAlgorithms ||
         word.ends_with(".lua") || (!is_script_file(word) && configuration.script(word) != nullptr);
}

Completions complete_limiters(const CompletionContext& typed) {
  Completions holders;
  if (typed.options.is_given("--concurrency")) holders.words.push_back({"concurrency"});
  if (typed.options.is_given("--reserve")) holders.words.push_back({"budget"});
  if (!holders.words.empty()) return joined(std::move(holders), complete_script(typed));
  auto completions = complete_limiter(typed);
  completions.words.push_back({std::string(kAllAlgorithms), "all that count requests"});
  return completions;
}

// ---- The limiters ----

void set_limits(Plan& plan, std::span<const NamedLimiter> scripts, const Options& given,
                const char* if_not_given) {
  if (plan.concurrency) {
    plan.limits = {{.limit = *plan.concurrency, .window = plan.leases.lease}};
    return;
  }
  take_from_scripts(plan, scripts, given);
  if (plan.limit_texts.empty()) plan.limit_texts = {if_not_given};
  plan.limits = parse_limits(plan.limit_texts, plan.burst_text, plan.origins);
  if (plan.reserve && plan.limits.size() > 1) {
    throw UsageError("--reserve measures one limit, but there are several --limit");
  }
}

void require_algorithms(const Plan& plan) {
  for (const auto* algorithm : plan.algorithms) {
    const bool counts = limiter::counts_requests(*algorithm);
    if (plan.reserve) {
      limiter::require_reservations(*algorithm);
    } else if (plan.concurrency && counts) {
      throw UsageError(
          fmt::format("--concurrency: {} counts requests and gives no leases", algorithm->name),
          "concurrency gives them: leave out the others");
    } else if (!plan.concurrency && !counts) {
      throw UsageError("concurrency gives leases, and requires --concurrency NUMBER");
    }
  }
}

bool names_others(const Plan& plan) {
  return !plan.script.scripts.empty() || !plan.exec.programs.empty();
}

bool names_limiter(const Plan& plan) {
  return !plan.algorithms.empty() || names_others(plan);
}

void require_taken(const limiter::Algorithm& algorithm, const limiter::Limit& limit,
                   std::int64_t cost, const LimitOrigins& origins) {
  const auto require = [&](const ValueOrigin& origin, const limiter::Limit& taken,
                           std::int64_t taken_cost) {
    try {
      limiter::require_usable(algorithm, taken, taken_cost);
    } catch (const UsageError& error) {
      refuse_value(origin, error.what(),
                   !error.hint().empty()
                       ? error.hint()
                       : fmt::format("an algorithm other than {} may accept it", algorithm.name));
    }
  };
  auto without_burst = limit;
  without_burst.burst.reset();
  require(origins.limit.with(limiter::format_limit(limit)), without_burst, 1);
  require(origins.burst, limit, 1);
  require(origins.cost, limit, cost);
}

void add_algorithm(Plan& plan, const Algorithm& algorithm, bool burst_is_for_others) {
  auto limits = plan.limits;
  for (auto& limit : limits) {
    if (!algorithm.has_burst && burst_is_for_others) limit.burst.reset();
    if (!plan.concurrency) require_taken(algorithm, limit, plan.request.cost, plan.origins);
  }
  plan.candidates.push_back({.algorithm = &algorithm, .limits = std::move(limits)});
}

void add_scripts(Plan& plan, const NamedLimiters& scripts, const Invocation& invocation) {
  if (!scripts.limiters.empty()) {
    require_lengths(plan.limits, "a script of your own", plan.origins.limit);
  }
  plan.has_configured_script |= scripts.uses_configuration;
  for (auto [candidate, options] : scripts.limiters) {
    const auto& server = invocation.connection;
    const bool is_shared = names_server(server) && server.url != "private:";
    if (is_shared) refuse_setup_of_head(options);
    candidate.limits = plan.limits;
    if (plan.model && candidate.foreign) {
      refuse_both("--model", quoted_and_masked(name_of(candidate)), "a script has no model");
    }
    require_holders_for_head(plan, options);
    ask_as_holders(candidate, options, plan);
    require_usable(candidate);
    const auto& script = candidate.foreign;
    if (script && !script->function.empty() && is_shared) {
      throw UsageError(
          fmt::format("{} is a library of functions, which is not loaded into a server that others "
                      "use: FUNCTION LOAD would replace a library of theirs",
                      escape(script->name)),
          kNameNoServer);
    }
    plan.candidates.push_back(std::move(candidate));
  }
}

void add_limiters_named(Plan& plan, const NamedLimiters& scripts, const Invocation& invocation,
                        bool has_burst) {
  if (!names_limiter(plan)) plan.algorithms = default_algorithms(plan);
  add_scripts(plan, scripts, invocation);
  add_programs(plan);
  const bool burst_is_for_others =
      has_burst || names_others(plan) ||
      std::ranges::any_of(plan.algorithms, [](const auto* one) { return one->has_burst; });
  for (const auto* algorithm : plan.algorithms)
    add_algorithm(plan, *algorithm, burst_is_for_others);
  require_programs(invocation.options, has_programs(plan));
}

// ---- The command that repeats the plan ----

Resolved resolved_limiters(const Plan& plan, const Invocation& invocation) {
  Resolved values{{"--config", {}}};
  if (plan.concurrency) {
    values["--lease"] = {format_duration(plan.leases.lease)};
  } else {
    auto& limits = values["--limit"];
    for (const auto& limit : plan.limits) limits.push_back(limiter::format_limit(limit));
    if (plan.has_limit_of_script) limits.clear();
  }
  const auto& script = plan.script;
  if (!script.scripts.empty()) {
    const bool is_configured = plan.has_configured_script;
    const auto file = is_configured ? invocation.configuration.named_file() : std::nullopt;
    if (file) values["--config"] = {*file};
    // Only what the options say: a default would override what the script's head says.
    const auto is_typed = [&](std::string_view word) {
      const auto found = script.words.find(word);
      return found != script.words.end() && found->second.source == WordSource::kOption;
    };
    values["--keys"] = is_typed("keys") ? script_keys(script) : std::vector<std::string>{};
    if (is_typed("args")) values["--args"] = {*script.find("args")};
  }
  if (const auto& url = invocation.connection.url) {
    values["--url"] = {redis::display(redis::parse_url(*url))};
  }
  return values;
}

void append_repeated(std::vector<std::string>& words, const Plan& plan,
                     const Invocation& invocation, const Resolved& values) {
  const auto limiters = limiter_operands(plan);
  words.insert(words.end(), limiters.begin(), limiters.end());
  const bool names = plan.is_real() || names_server(invocation.connection);
  const auto options = invocation.options.repeated(values, names);
  words.insert(words.end(), options.begin(), options.end());
  // Of a server under the virtual clock, the time does not matter.
  const auto& timeout = invocation.connection.timeout;
  if (timeout && has_programs(plan) && !plan.is_real()) {
    words.insert(words.end(), {"--timeout", *timeout});
  }
}

bool has_programs(const Plan& plan) {
  return std::ranges::any_of(plan.candidates,
                             [](const auto& candidate) { return candidate.program != nullptr; });
}

}  // namespace rlctl::cli::trial
