#include "cli/commands/burst/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "adversary/exhaustive.h"
#include "adversary/search.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/errors/failure.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/url.h"
#include "traffic/template.h"

namespace rlctl::cli::burst {
namespace {

using limiter::Algorithm;

constexpr std::string_view kSteady = "steady";
/// A closed loop ignores the times of its traffic, which never ends.
constexpr double kRateOfClosedLoop = 1e9;
constexpr std::int64_t kRequestsOfClosedLoop = 1'000'000'000'000'000;

// --- KEYS and ARGV as operands -------------------------------------------------------------------

bool names_traffic(const std::string& operand) {
  return traffic::find_pattern(operand) != nullptr;
}

/// Takes KEY... , ARG... of a script from the operands, which leaves the pattern, if any.
void extract_keys_and_args(Plan& plan, std::vector<std::string>& operands) {
  auto& script = plan.script;
  if (script.scripts.empty()) return;
  auto words = split_at_comma(operands, script);
  if (!words) return;
  script.arguments = std::move(words->arguments);
  auto& before = words->before;
  const bool has_pattern = !plan.log.given() && !before.empty() && names_traffic(before.front());
  operands.assign(before.begin(), before.begin() + (has_pattern ? 1 : 0));
  before.erase(before.begin(), before.begin() + (has_pattern ? 1 : 0));
  if (!before.empty() && !script.keys.empty()) {
    throw UsageError("--keys " + in_quotes(script.keys.front()) + " and the KEY " +
                     in_quotes(before.front()) + " before ',' cannot be combined");
  }
  for (const auto& key : before) {
    if (!is_digits(std::string_view(key).substr(key.starts_with('-') ? 1 : 0))) continue;
    throw UsageError("KEY " + in_quotes(key) + " is a number",
                     "a KEY of burst is a template, such as '{key}'");
  }
  if (!before.empty()) script.keys = std::move(before);
}

// --- The clock -----------------------------------------------------------------------------------

/// The default --clients of a closed loop, as in redis-benchmark.
constexpr std::size_t kClientsOfClosedLoop = 50;
constexpr std::chrono::seconds kClosedLoop{10};

/// The real clock, which takes the duration of a closed loop from the request; none for the virtual
/// clock.
std::optional<RealClock> make_clock(Plan& plan) {
  if (!plan.is_real.value_or(plan.max_rate)) return std::nullopt;
  if (!plan.max_rate) return RealClock{.clients = plan.clients.value_or(1)};
  RealClock clock{.clients = plan.clients.value_or(kClientsOfClosedLoop),
                  .pipeline = plan.pipeline.value_or(1),
                  .duration = std::exchange(plan.request.duration, std::nullopt)};
  if (clock.duration == std::chrono::microseconds{0}) {
    throw UsageError("--duration must be more than 0");
  }
  if (!clock.duration && !plan.request.requests && !plan.log.given()) clock.duration = kClosedLoop;
  return clock;
}

// --- A search ------------------------------------------------------------------------------------

/// Throws UsageError if the search cannot find anything: too few requests to exceed the limit, or
/// windows whose edges are not among the times.
void require_conclusive(const SearchPlan& search, const limiter::Limit& limit) {
  if (search.exhaustive) {
    // A request that costs more than the limit is never allowed.
    std::int64_t largest = 0;
    for (const auto cost : search.costs) {
      if (cost <= limit.limit) largest = std::max(largest, cost);
    }
    if (*search.exhaustive * largest <= limit.limit) {
      throw UsageError(
          fmt::format("--exhaustive: {} cannot exceed a limit of {}, so nothing would be proved",
                      counted(*search.exhaustive, "request"), limit.limit),
          fmt::format("use a smaller limit and more requests: --limit 2/{} --exhaustive 6",
                      format_duration(limit.window)));
    }
  }
  if (search.tick.count() > 0 && limit.window % search.tick == search.tick.zero()) return;
  throw UsageError(fmt::format("--tick: a window of {} is not a multiple of {}",
                               format_duration(limit.window), format_duration(search.tick)),
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

/// Throws UsageError, which names the limit and the algorithm, since there may be several of each.
void require_taken(const limiter::Algorithm& algorithm, const limiter::Limit& limit,
                   std::int64_t cost) {
  try {
    limiter::require_usable(algorithm, limit, cost);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--limit {}: {}", limiter::format_limit(limit), error.what()),
                     fmt::format("an --algorithm other than {} may accept it", algorithm.name));
  }
}

/// Throws UsageError for a limiter that does not take every cost of a search.
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

/// Completes the search. Throws UsageError if it cannot run.
void complete_search(SearchPlan& search, const Plan& plan) {
  search.costs = plan.costs;
  if (search.refunds) {
    for (const auto cost : plan.costs) search.costs.push_back(-cost);
  }
  require_conclusive(search, plan.request.limit);
  require_room(plan.request, search);
}

// --- The traffic and the limiters ----------------------------------------------------------------

/// A hint for an operand that is not a pattern; empty if its meaning is unknown.
std::string hint_for(const std::string& operand, ConfigurationSource& configuration) {
  if (operand == ",")
    return "it separates the KEYS and ARGV of a script: --script FILE.lua KEY , ARG";
  const bool is_script = operand.ends_with(".lua") ||
                         limiter::find_script(configuration.scripts(), operand) != nullptr;
  if (is_script) return "run a script with --script " + operand;
  if (operand.find('{') == operand.npos) return {};
  return "quote the value of --args, which is one word: --args '{now_ms} {window_ms}', or write a "
         "comma before the words: KEY , '{now_ms}' '{window_ms}'";
}

/// A hint for several operands, of which the second is too many.
std::string hint_for(const std::vector<std::string>& operands, ConfigurationSource& configuration) {
  for (const auto& operand : operands) {
    if (operand.size() < 2 || !operand.ends_with(',')) continue;
    const auto key = operand.substr(0, operand.size() - 1);
    return "the comma before ARGV is a word of its own: " + in_quotes(key) + " ,";
  }
  return hint_for(operands[1], configuration);
}

const traffic::Pattern& parse_pattern(const std::vector<std::string>& operands,
                                      const std::optional<RealClock>& clock,
                                      ConfigurationSource& configuration) {
  if (operands.size() > 1) {
    throw UsageError("expected one PATTERN, but got " + std::to_string(operands.size()) +
                         ": the second is " + in_quotes(operands[1]),
                     hint_for(operands, configuration));
  }
  const bool is_closed_loop = clock && clock->is_closed_loop();
  if (operands.empty()) {
    return is_closed_loop ? *traffic::find_pattern(kSteady) : traffic::patterns().front();
  }
  if (const auto* pattern = traffic::find_pattern(operands[0])) {
    if (!is_closed_loop || pattern->name == kSteady) return *pattern;
    throw UsageError(fmt::format("patterns do not apply to --rate max: unexpected argument '{}'",
                                 pattern->name));
  }
  if (limiter::find_algorithm(operands[0]) != nullptr) {
    throw UsageError(in_quotes(operands[0]) + " is an algorithm, not a pattern",
                     "--algorithm " + operands[0]);
  }
  if (auto hint = hint_for(operands[0], configuration); !hint.empty()) {
    throw UsageError(in_quotes(operands[0]) + " is not a pattern", std::move(hint));
  }
  std::vector<std::string_view> names;
  for (const auto& pattern : traffic::patterns()) names.push_back(pattern.name);
  names.push_back(kAdversary);
  refuse_word("unknown pattern " + in_quotes(operands[0]), operands[0], names);
}

/// `algorithm`: null for a script, which may take one.
bool takes_burst(const Algorithm* algorithm) {
  return algorithm == nullptr || algorithm->has_burst;
}

/// Each algorithm with its limits: without a burst if only other candidates take one.
std::vector<traffic::Candidate> make_candidates(const std::vector<const Algorithm*>& algorithms,
                                                const std::vector<limiter::Limit>& limits,
                                                std::int64_t cost, bool burst_is_for_others) {
  const bool burst_is_for_some =
      burst_is_for_others || std::any_of(algorithms.begin(), algorithms.end(), takes_burst);
  std::vector<traffic::Candidate> candidates;
  for (const auto* algorithm : algorithms) {
    auto own = limits;
    for (auto& limit : own) {
      if (!algorithm->has_burst && burst_is_for_some) limit.burst.reset();
      require_taken(*algorithm, limit, cost);
    }
    candidates.push_back({.algorithm = algorithm, .limits = std::move(own)});
  }
  return candidates;
}

/// What reads standard input besides --script; empty if nothing does.
std::string_view input_user(const Plan& plan) {
  const bool is_log = plan.replay && std::count(plan.replay->files.begin(),
                                                plan.replay->files.end(), kStandardInput) > 0;
  if (is_log) return "--replay -";
  return plan.against == kStandardInput ? "--against -" : "";
}

/// The foreign scripts first, then the algorithms to compare them with. `burst_is_for_another`: a
/// limiter that is not among them takes a burst.
void add_candidates(Plan& plan, const Invocation& invocation, bool burst_is_for_another) {
  const auto scripts = read_scripts(plan.script, invocation.configuration, input_user(plan));
  plan.has_configured_script = scripts.uses_configuration;
  for (const auto& script : scripts.limiters) {
    traffic::Candidate candidate{.limits = plan.limits, .foreign = script};
    require_usable(candidate);
    if (!script->function.empty() && names_server(invocation.connection)) {
      throw UsageError(
          fmt::format("{} is a library of functions, which runs on a private server only: FUNCTION "
                      "LOAD would replace a library that others use",
                      escape(script->name)),
          kNameNoServer);
    }
    plan.candidates.push_back(std::move(candidate));
  }
  auto algorithms = plan.algorithms;
  if (algorithms.empty() && plan.candidates.empty()) {
    algorithms = {limiter::find_algorithm("fixed-window"),
                  limiter::find_algorithm("sliding-window-log")};
  }
  auto others = make_candidates(algorithms, plan.limits, plan.request.cost,
                                burst_is_for_another || !plan.candidates.empty());
  std::move(others.begin(), others.end(), std::back_inserter(plan.candidates));
}

/// Adds the limiter to compare with; there must be one other.
void add_against(Plan& plan, const Invocation& invocation) {
  if (!plan.against) return;
  if (plan.algorithms.empty() && plan.script.scripts.empty()) {
    throw UsageError("--against compares with one limiter, but none is named",
                     "name it with --algorithm or --script");
  }
  if (plan.candidates.size() != 1) {
    throw UsageError(
        fmt::format("--against compares with one limiter, not {}", plan.candidates.size()),
        "name one with --algorithm or --script");
  }
  auto other = plan;
  other.against.reset();
  other.algorithms.clear();
  other.script.scripts.clear();
  other.candidates.clear();
  if (limiter::find_algorithm(*plan.against) != nullptr) {
    other.algorithms = {&parse_algorithm(*plan.against)};
  } else if (limiter::find_script(invocation.configuration.scripts(), *plan.against) == nullptr &&
             !is_script_file(*plan.against)) {
    throw UsageError("--against: " + in_quotes(*plan.against) +
                         " is neither an algorithm nor a script" +
                         did_you_mean(*plan.against, limiter::list_names(limiter::counts_requests)),
                     "a script is a file, such as ./limiter.lua, or a section [script.NAME] of the "
                     "configuration");
  } else {
    other.script.scripts.push_back(*plan.against);
    other.script.named_with = "--against";
  }
  add_candidates(other, invocation, takes_burst(plan.candidates.front().algorithm));
  plan.has_configured_script |= other.has_configured_script;
  plan.candidates.push_back(std::move(other.candidates.front()));
  plan.is_comparison = true;
}

/// Completes the request of a pattern or a search.
void complete_request(Plan& plan) {
  auto& request = plan.request;
  request.keys = plan.keys.value_or(1);
  request.cost = plan.costs.front();
  if (plan.real && plan.real->is_closed_loop()) {
    request.rate = kRateOfClosedLoop;
    request.requests =
        std::min(request.requests.value_or(kRequestsOfClosedLoop), kRequestsOfClosedLoop);
  }
  if (plan.start && plan.pattern) {
    request = traffic::starting_at(*plan.pattern, request, *plan.start);
  } else if (plan.start) {
    request.start = *plan.start;
  }
}

/// Sets the traffic: a log, a pattern or a search.
void set_traffic(Plan& plan, const std::vector<std::string>& operands,
                 ConfigurationSource& configuration) {
  plan.replay = parse_replay(plan.log, operands);
  plan.request.limit = plan.limits.front();
  if (!plan.replay) {
    if (!plan.search) plan.pattern = &parse_pattern(operands, plan.real, configuration);
    complete_request(plan);
    if (plan.search) complete_search(*plan.search, plan);
  }
  if (!plan.log.suggest) return;
  plan.suggest = parse_denied_share(*plan.log.suggest);
  if (plan.limits.size() == 1) return;
  throw UsageError("--suggest finds the limit of one window, but there are several --limit",
                   "give one for its window");
}

/// Throws UsageError, before anything starts, if the pattern rejects the request or makes fewer
/// requests than --requests asks for.
void require_traffic(const Plan& plan) {
  const auto traffic = traffic::make_traffic(*plan.pattern, plan.request);
  const auto& requests = plan.request.requests;
  if (!requests || plan.request.duration || *requests <= traffic->size()) return;
  throw UsageError(fmt::format("--requests: {} makes {} requests, not {}", plan.pattern->name,
                               traffic->size(), *requests),
                   "use a higher --rate or a longer --duration");
}

// --- The command that repeats the plan -----------------------------------------------------------

/// Whether the algorithms are those of `--algorithm all`.
bool has_all_algorithms(const Plan& plan) {
  std::vector<std::string_view> names;
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign) names.push_back(candidate.algorithm->name);
  }
  return names == limiter::list_names(limiter::counts_requests);
}

/// Comma-separated lists of the names, each short enough for a line of a narrow terminal.
std::vector<std::string> algorithm_lists(const Plan& plan) {
  constexpr std::size_t kMaxLetters = 34;
  std::vector<std::string> lists;
  if (has_all_algorithms(plan)) return {std::string(kAllAlgorithms)};
  const auto named =
      std::span(plan.candidates).first(plan.candidates.size() - (plan.is_comparison ? 1 : 0));
  for (const auto& candidate : named) {
    if (candidate.foreign) continue;
    const auto name = candidate.algorithm->name;
    if (lists.empty() || lists.back().size() + 1 + name.size() > kMaxLetters) {
      lists.emplace_back(name);
    } else {
      lists.back().append(",").append(name);
    }
  }
  return lists;
}

using Resolved = std::map<std::string_view, std::vector<std::string>>;

/// The options for the limiters and their limits.
Resolved resolved_limiters(const Plan& plan, const Invocation& invocation) {
  Resolved values{{"--algorithm", algorithm_lists(plan)}};
  for (const auto& limit : plan.limits) {
    values["--limit"].push_back(limiter::format_limit(limit));
  }
  values["--config"] = {};
  const auto& script = plan.script;
  if (script.scripts.empty()) return values;
  const bool is_configured = plan.has_configured_script;
  const auto file = is_configured ? invocation.configuration.named_file() : std::nullopt;
  if (file) values["--config"] = {*file};
  // A default would override what the configuration says.
  values["--keys"] = is_configured ? script.keys : script_keys(script);
  for (const auto& setting : script_settings()) {
    const auto& text = script.*setting.value;
    if (text || (!is_configured && !setting.if_not_given.empty())) {
      values[setting.option] = {text.value_or(std::string(setting.if_not_given))};
    }
  }
  return values;
}

/// Every option that affects the result. The server is included only under the real clock, without
/// its password: under the virtual clock all servers give the same result.
std::vector<std::string> command_words(const Plan& plan, const Invocation& invocation) {
  auto values = resolved_limiters(plan, invocation);
  if (plan.keys) values["--keys"].push_back(std::to_string(*plan.keys));
  if (plan.replay) {
    values["--replay"] = plan.replay->files;
  } else {
    values["--seed"] = {std::to_string(plan.request.seed)};
  }
  values["--clock"] = {};  // the virtual one is the default
  if (plan.real) {
    values["--clock"] = {"real"};
    values["--clients"] = {std::to_string(plan.real->clients)};
    if (plan.real->pipeline) values["--pipeline"] = {std::to_string(*plan.real->pipeline)};
    if (plan.real->duration) values["--duration"] = {format_duration(*plan.real->duration)};
  }
  if (plan.search && plan.search->exhaustive) {
    values["--seed"] = {};
  } else if (plan.search) {
    values["--budget"] = {std::to_string(plan.search->budget)};
  }
  if (const auto& url = invocation.connection.url) {
    values["--url"] = {redis::display(redis::parse_url(*url))};
  }
  std::vector<std::string> words{"rlctl", "burst"};
  if (plan.pattern) words.emplace_back(plan.pattern->name);
  if (plan.search) words.emplace_back(kAdversary);
  const auto options_words = invocation.options.repeated(values, plan.real.has_value());
  words.insert(words.end(), options_words.begin(), options_words.end());
  return words;
}

/// The command that replays a search's schedule, from the --write file, against the same limiters.
std::vector<std::string> replay_words(const Plan& plan, const Invocation& invocation) {
  const auto& file = plan.search->write;
  auto values = resolved_limiters(plan, invocation);
  for (const auto* option : {"--seed", "--budget", "--tick", "--cost", "--start", "--clock",
                             "--exhaustive", "--refunds", "--no-stepping-back"})
    values[option] = {};
  std::vector<std::string> words{"rlctl", "burst", "--replay",
                                 file && file != "-" ? *file : "FILE"};
  const auto options_words = invocation.options.repeated(values, false);
  words.insert(words.end(), options_words.begin(), options_words.end());
  return words;
}

}  // namespace

void complete_plan(Plan& plan, const Invocation& invocation) {
  auto operands = invocation.operands;
  extract_keys_and_args(plan, operands);
  require_consistent(invocation.options, plan);
  if (plan.search && !operands.empty()) {
    throw UsageError("unexpected argument " + in_quotes(operands[0]),
                     hint_for(operands[0], invocation.configuration));
  }
  plan.real = make_clock(plan);
  if (plan.limit_texts.empty()) plan.limit_texts = {plan.search ? kSearchLimit : kDefaultLimit};
  plan.limits = parse_limits(plan.limit_texts, plan.burst_text);
  set_traffic(plan, operands, invocation.configuration);
  add_candidates(plan, invocation,
                 plan.against && takes_burst(limiter::find_algorithm(*plan.against)));
  add_against(plan, invocation);
  if (plan.search) {
    for (const auto& candidate : plan.candidates) require_costs(candidate, *plan.search);
  }
  plan.command = command_words(plan, invocation);
  if (plan.search) plan.replay_command = replay_words(plan, invocation);
  if (plan.pattern) require_traffic(plan);
}

}  // namespace rlctl::cli::burst
