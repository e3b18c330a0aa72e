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

namespace rlctl::cli {
namespace {

using limiter::Algorithm;

constexpr double kMostSkew = 100;
constexpr std::string_view kSteady = "steady";
/// A closed loop ignores the times of its traffic, which never ends.
constexpr double kRateOfClosedLoop = 1e9;
constexpr std::int64_t kRequestsOfClosedLoop = 1'000'000'000'000'000;

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_digits(text);
}

/// The last value of --keys that is a number.
std::optional<std::string> key_count(const BurstOptions& options) {
  std::optional<std::string> count;
  for (const auto& text : options.keys) {
    if (is_number(text)) count = text;
  }
  return count;
}

/// --script and its options, with the values of --keys that are not numbers.
ScriptOptions script_options(const BurstOptions& options) {
  auto script = options.script;
  for (const auto& text : options.keys) {
    if (!is_number(text)) script.keys.push_back(text);
  }
  return script;
}

// --- KEYS and ARGV as operands -------------------------------------------------------------------

bool names_traffic(const std::string& operand) {
  return traffic::find_pattern(operand) != nullptr;
}

/// Takes KEY... , ARG... of a script from the operands, which leaves the pattern, if any.
void take_words(BurstOptions& options, std::vector<std::string>& operands) {
  if (options.script.scripts.empty()) return;
  auto words = split_at_comma(operands, options.script);
  if (!words) return;
  options.script.arguments = std::move(words->arguments);
  auto& before = words->before;
  const bool has_pattern =
      !options.replay.given() && !before.empty() && names_traffic(before.front());
  operands.assign(before.begin(), before.begin() + (has_pattern ? 1 : 0));
  before.erase(before.begin(), before.begin() + (has_pattern ? 1 : 0));
  if (!before.empty() && !script_options(options).keys.empty()) {
    throw UsageError("--keys " + in_quotes(script_options(options).keys.front()) + " and the KEY " +
                     in_quotes(before.front()) + " before ',' cannot be combined");
  }
  for (const auto& key : before) {
    if (!is_number(key)) continue;
    throw UsageError("KEY " + in_quotes(key) + " is a number",
                     "a KEY of burst is a template, such as '{key}'");
  }
  options.script.keys = std::move(before);
}

// --- The clock -----------------------------------------------------------------------------------

constexpr std::int64_t kMostClients = 10'000;
/// As in redis-benchmark.
constexpr std::size_t kClientsOfClosedLoop = 50;
constexpr std::chrono::seconds kClosedLoop{10};

bool wants_real(const BurstOptions& options) {
  const bool closed_loop = options.rate == kMaxRate;
  if (!options.clock) return closed_loop;
  if (options.clock == kReal) return true;
  if (options.clock != kVirtual) {
    throw UsageError("--clock must be virtual or real, not " + in_quotes(*options.clock));
  }
  if (!closed_loop) return false;
  throw UsageError("--rate max requires --clock real: the server sets the pace",
                   "use --clock real, or a rate like 400/s");
}

std::size_t parse_count(const std::optional<std::string>& text, std::string_view name,
                        std::size_t if_not_given) {
  if (!text) return if_not_given;
  return static_cast<std::size_t>(parse_between(*text, name, 1, kMostClients));
}

std::optional<RealClock> parse_clock(const BurstOptions& options) {
  if (!wants_real(options)) return std::nullopt;
  if (options.rate != kMaxRate) {
    return RealClock{.clients = parse_count(options.clients, "--clients", 1)};
  }
  RealClock clock{.clients = parse_count(options.clients, "--clients", kClientsOfClosedLoop),
                  .pipeline = parse_count(options.pipeline, "--pipeline", 1)};
  if (options.duration) {
    clock.duration = parse_duration_of(*options.duration, "--duration");
    if (clock.duration->count() == 0) throw UsageError("--duration must be more than 0");
  } else if (!options.requests && !options.replay.given()) {
    clock.duration = kClosedLoop;
  }
  return clock;
}

// --- A search ------------------------------------------------------------------------------------

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

/// The values of --cost, of which a pattern takes only one: without duplicates, in the order of
/// first mention.
std::vector<std::int64_t> parse_costs(const std::optional<std::string>& text) {
  std::vector<std::int64_t> costs;
  for (const auto& word : split_at_commas(text.value_or("1"))) {
    const auto cost = parse_between(word, "--cost", 1, limiter::kLargestCost);
    if (std::find(costs.begin(), costs.end(), cost) == costs.end()) costs.push_back(cost);
  }
  return costs;
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

/// The search with the limit and the start of the request. Throws UsageError if it cannot run.
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

void require_searchable(const BurstOptions& options, const std::vector<std::string>& operands,
                        ConfigurationSource& configuration) {
  if (!operands.empty()) {
    throw UsageError("unexpected argument " + in_quotes(operands[0]),
                     hint_for(operands[0], configuration));
  }
  if (key_count(options)) {
    throw UsageError("--keys and adversary cannot be combined: a search uses one key");
  }
  if (options.limits.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit");
  }
}

/// About operands of which the second is too many.
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

/// Without duplicates, in the order of first mention.
std::vector<const Algorithm*> parse_algorithms(const std::vector<std::string>& names) {
  std::vector<const Algorithm*> chosen;
  const auto add = [&chosen](const Algorithm& algorithm) {
    if (std::find(chosen.begin(), chosen.end(), &algorithm) == chosen.end()) {
      chosen.push_back(&algorithm);
    }
  };
  for (const auto& name : names) {
    if (name != kAllAlgorithms) {
      add(parse_algorithm(name, kAllAlgorithms));
      continue;
    }
    for (const auto& algorithm : limiter::algorithms()) {
      if (limiter::counts_requests(algorithm)) add(algorithm);
    }
  }
  return chosen;
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
std::string_view input_user(const BurstPlan& plan, const BurstOptions& options) {
  const bool is_log = plan.replay && std::count(plan.replay->files.begin(),
                                                plan.replay->files.end(), kStandardInput) > 0;
  if (is_log) return "--replay -";
  return options.against == kStandardInput ? "--against -" : "";
}

/// The foreign scripts first, then the algorithms to compare them with. `burst_is_for_another`: a
/// limiter that is not among them takes a burst.
void add_candidates(BurstPlan& plan, const BurstOptions& options, const Invocation& invocation,
                    bool burst_is_for_another) {
  const auto scripts =
      read_scripts(script_options(options), invocation.configuration, input_user(plan, options));
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
  auto names = options.algorithms;
  if (names.empty() && plan.candidates.empty()) {
    names = {"fixed-window", "sliding-window-log"};
  }
  auto others = make_candidates(parse_algorithms(names), plan.limits, plan.request.cost,
                                burst_is_for_another || !plan.candidates.empty());
  std::move(others.begin(), others.end(), std::back_inserter(plan.candidates));
}

/// Adds the limiter to compare with; there must be one other.
void add_against(BurstPlan& plan, const BurstOptions& options, const Invocation& invocation) {
  if (!options.against) return;
  if (options.algorithms.empty() && options.script.scripts.empty()) {
    throw UsageError("--against compares with one limiter, but none is named",
                     "name it with --algorithm or --script");
  }
  if (plan.candidates.size() != 1) {
    throw UsageError(
        fmt::format("--against compares with one limiter, not {}", plan.candidates.size()),
        "name one with --algorithm or --script");
  }
  auto other = options;
  other.against.reset();
  other.algorithms.clear();
  other.script.scripts.clear();
  const auto* algorithm = limiter::find_algorithm(*options.against);
  if (algorithm != nullptr) {
    other.algorithms.push_back(*options.against);
  } else if (limiter::find_script(invocation.configuration.scripts(), *options.against) ==
                 nullptr &&
             !is_script_file(*options.against)) {
    throw UsageError(
        "--against: " + in_quotes(*options.against) + " is neither an algorithm nor a script" +
            did_you_mean(*options.against, limiter::list_names(limiter::counts_requests)),
        "a script is a file, such as ./limiter.lua, or a section [script.NAME] of the "
        "configuration");
  } else {
    other.script.scripts.push_back(*options.against);
    other.script.named_with = "--against";
  }
  BurstPlan added{.request = plan.request, .replay = plan.replay, .limits = plan.limits};
  add_candidates(added, other, invocation, takes_burst(plan.candidates.front().algorithm));
  plan.has_configured_script |= added.has_configured_script;
  plan.candidates.push_back(std::move(added.candidates.front()));
  plan.is_comparison = true;
}

double parse_skew(const std::string& text) {
  const auto value = to_decimal(text);
  if (value && *value >= 0 && *value <= kMostSkew) return *value;
  throw UsageError(
      fmt::format("--key-skew must be a number from 0 to {}, not {}", kMostSkew, in_quotes(text)));
}

/// Requests per second, written like a limit: 400/s, 24k/min.
double parse_rate(const std::string& text) {
  try {
    const auto rate = limiter::parse_limit(text);
    return static_cast<double>(rate.limit) * 1e6 / static_cast<double>(rate.window.count());
  } catch (const UsageError&) {
    throw UsageError("--rate: " + in_quotes(text) + " is not a rate; write 400/s or 24k/min");
  }
}

/// Sets the times and the number of requests; in a closed loop the duration is in RealClock.
void set_schedule(traffic::PatternRequest& request, const BurstOptions& options,
                  const std::optional<RealClock>& clock) {
  if (options.requests) {
    request.requests = parse_between(*options.requests, "--requests", 1, INT64_MAX);
  }
  if (clock && clock->is_closed_loop()) {
    request.rate = kRateOfClosedLoop;
    request.requests =
        std::min(request.requests.value_or(kRequestsOfClosedLoop), kRequestsOfClosedLoop);
    return;
  }
  if (options.rate) request.rate = parse_rate(*options.rate);
  if (options.duration) request.duration = parse_duration_of(*options.duration, "--duration");
}

traffic::PatternRequest make_request(const BurstOptions& options, const limiter::Limit& limit,
                                     const std::optional<RealClock>& clock) {
  traffic::PatternRequest request{.limit = limit};
  set_schedule(request, options, clock);
  if (const auto keys = key_count(options)) {
    request.keys =
        static_cast<std::uint32_t>(parse_between(*keys, "--keys", 1, traffic::kMostPatternKeys));
  }
  if (options.key_skew) request.key_skew = parse_skew(*options.key_skew);
  if (options.key_skew && request.keys == 1) {
    throw UsageError("--key-skew needs more than one key", "add --keys NUMBER");
  }
  request.cost = parse_costs(options.cost).front();
  if (options.seed) {
    request.seed = static_cast<std::uint64_t>(parse_between(*options.seed, "--seed", 0, INT64_MAX));
  }
  return request;
}

std::optional<traffic::DeniedShare> parse_suggest(const BurstOptions& options,
                                                  const BurstPlan& plan) {
  if (!options.replay.suggest) return std::nullopt;
  const auto share = parse_denied_share(*options.replay.suggest);
  if (plan.limits.size() > 1) {
    throw UsageError("--suggest finds the limit of one window, but there are several --limit",
                     "give one for its window");
  }
  return share;
}

void set_start(BurstPlan& plan, const BurstOptions& options) {
  if (!options.start) return;
  const auto start = parse_now(*options.start, "--start");
  if (plan.pattern) {
    plan.request = traffic::starting_at(*plan.pattern, plan.request, start);
  } else {
    plan.request.start = start;
  }
}

/// Sets the traffic: a log, a pattern or a search.
void set_traffic(BurstPlan& plan, const BurstOptions& options,
                 const std::vector<std::string>& operands, ConfigurationSource& configuration) {
  plan.replay = parse_replay(options.replay, operands);
  if (plan.replay) {
    if (key_count(options)) {
      throw UsageError("--keys and --replay cannot be combined: the log has the keys", kNameKeys);
    }
    plan.request.limit = plan.limits.front();
  } else {
    const bool searches = options.is_search;
    if (!searches) plan.pattern = &parse_pattern(operands, plan.real, configuration);
    if (!searches && parse_costs(options.cost).size() > 1) {
      throw UsageError("--cost must be one number for a pattern, not " + in_quotes(*options.cost),
                       "rlctl burst adversary mixes costs");
    }
    plan.request = make_request(options, plan.limits.front(), plan.real);
    set_start(plan, options);
    if (searches) plan.search = make_search_plan(options, plan.request);
  }
  plan.suggest = parse_suggest(options, plan);
}

/// Throws UsageError, before anything starts, if the pattern rejects the request or makes fewer
/// requests than --requests asks for.
void require_traffic(const BurstPlan& plan) {
  const auto traffic = traffic::make_traffic(*plan.pattern, plan.request);
  const auto& requests = plan.request.requests;
  if (!requests || plan.request.duration || *requests <= traffic->size()) return;
  throw UsageError(fmt::format("--requests: {} makes {} requests, not {}", plan.pattern->name,
                               traffic->size(), *requests),
                   "use a higher --rate or a longer --duration");
}

// --- The command that repeats the plan -----------------------------------------------------------

/// Whether the algorithms are those of `--algorithm all`.
bool has_all_algorithms(const BurstPlan& plan) {
  std::vector<std::string_view> names;
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign) names.push_back(candidate.algorithm->name);
  }
  return names == limiter::list_names(limiter::counts_requests);
}

/// Comma-separated lists of the names, each short enough for a line of a narrow terminal.
std::vector<std::string> algorithm_lists(const BurstPlan& plan) {
  constexpr std::size_t kMostLetters = 34;
  std::vector<std::string> lists;
  if (has_all_algorithms(plan)) return {std::string(kAllAlgorithms)};
  const auto named =
      std::span(plan.candidates).first(plan.candidates.size() - (plan.is_comparison ? 1 : 0));
  for (const auto& candidate : named) {
    if (candidate.foreign) continue;
    const auto name = candidate.algorithm->name;
    if (lists.empty() || lists.back().size() + 1 + name.size() > kMostLetters) {
      lists.emplace_back(name);
    } else {
      lists.back().append(",").append(name);
    }
  }
  return lists;
}

using Resolved = std::map<std::string_view, std::vector<std::string>>;

/// The options for the limiters and their limits.
Resolved resolved_limiters(const BurstPlan& plan, const BurstOptions& options,
                           const Invocation& invocation) {
  Resolved values{{"--algorithm", algorithm_lists(plan)}};
  for (const auto& limit : plan.limits) {
    values["--limit"].push_back(limiter::format_limit(limit));
  }
  values["--config"] = {};
  const auto script = script_options(options);
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
std::vector<std::string> command_words(const BurstPlan& plan, const BurstOptions& options,
                                       const Invocation& invocation) {
  auto values = resolved_limiters(plan, options, invocation);
  if (const auto count = key_count(options)) values["--keys"].push_back(*count);
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
std::vector<std::string> replay_words(const BurstPlan& plan, const BurstOptions& options,
                                      const Invocation& invocation) {
  const bool is_file = options.write && options.write != "-";
  auto values = resolved_limiters(plan, options, invocation);
  for (const auto* option : {"--seed", "--budget", "--tick", "--cost", "--start", "--clock",
                             "--exhaustive", "--refunds", "--no-stepping-back"})
    values[option] = {};
  std::vector<std::string> words{"rlctl", "burst", "--replay", is_file ? *options.write : "FILE"};
  const auto options_words = invocation.options.repeated(values, false);
  words.insert(words.end(), options_words.begin(), options_words.end());
  return words;
}

}  // namespace

BurstPlan make_burst_plan(const BurstOptions& typed, const Invocation& invocation) {
  auto options = typed;
  auto operands = invocation.operands;
  take_words(options, operands);
  const bool searches = options.is_search;
  require_consistent(invocation.options, options);
  if (searches) require_searchable(options, operands, invocation.configuration);
  if (options.title && options.title->find_first_not_of(' ') == std::string::npos) {
    throw UsageError("--title is empty", "omit it for a title from the traffic");
  }
  BurstPlan plan{.real = parse_clock(options), .title = options.title, .model = options.model};
  auto limits = options.limits;
  if (limits.empty()) limits.emplace_back(searches ? kSearchLimit : kDefaultLimit);
  plan.limits = parse_limits(limits, options.burst);
  set_traffic(plan, options, operands, invocation.configuration);
  add_candidates(plan, options, invocation,
                 options.against && takes_burst(limiter::find_algorithm(*options.against)));
  add_against(plan, options, invocation);
  if (plan.search) {
    for (const auto& candidate : plan.candidates) require_costs(candidate, *plan.search);
  }
  plan.command = command_words(plan, options, invocation);
  if (searches) plan.replay_command = replay_words(plan, options, invocation);
  if (plan.pattern) require_traffic(plan);
  return plan;
}

}  // namespace rlctl::cli
