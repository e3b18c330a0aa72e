#include "cli/commands/burst/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "adversary/exhaustive.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/budgets.h"
#include "cli/commands/burst/holder_search.h"
#include "cli/commands/burst/leases.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "redis/url.h"
#include "traffic/template.h"

namespace rlctl::cli::burst {
namespace {

using limiter::Algorithm;

constexpr std::string_view kSteady = "steady", kPoisson = "poisson";
/// A closed loop ignores the times of its traffic, which never ends.
constexpr double kRateOfClosedLoop = 1e9;
constexpr std::int64_t kRequestsOfClosedLoop = 1'000'000'000'000'000;

// --- KEYS and ARGV as operands -------------------------------------------------------------------

/// Takes KEY... , ARG... of a script from the operands, which leaves the pattern, if any.
void extract_keys_and_args(Plan& plan, std::vector<std::string>& operands, std::size_t typed) {
  auto& script = plan.script;
  if (script.scripts.empty()) return;
  auto words = split_at_comma(operands, script);
  if (!words) return;
  script.arguments = std::move(words->arguments);
  auto& before = words->before;
  refuse_dash(before, typed);
  operands.clear();
  const bool may_have_pattern = !plan.log.given() && !before.empty();
  if (may_have_pattern && traffic::find_pattern(before.front()) != nullptr) {
    operands.push_back(before.front());
    before.erase(before.begin());
  }
  if (!before.empty() && !script.keys.empty()) {
    throw UsageError("--keys " + quoted_and_masked(script.keys.front()) + " and the KEY " +
                     quoted_and_masked(before.front()) + " before ',' cannot be combined");
  }
  for (const auto& key : before) {
    if (!is_digits(std::string_view(key).substr(key.starts_with('-') ? 1 : 0))) continue;
    throw UsageError("KEY " + quoted_and_masked(key) + " is a number",
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
    throw UsageError(
        fmt::format("--limit {}: {}", limiter::format_limit(limit), error.what()),
        !error.hint().empty()
            ? error.hint()
            : fmt::format("an --algorithm other than {} may accept it", algorithm.name));
  }
}

/// Throws UsageError for a limiter that does not take every cost of a search.
void require_costs_of_search(const traffic::Candidate& candidate, const SearchPlan& search) {
  if (search.costs.size() == 1 || candidate.program) return;
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

/// Throws UsageError for limiters that cannot be searched, and for several of them with a log,
/// which has the schedule of one.
void require_searchable_limiters(const Plan& plan) {
  if (plan.search->write && plan.candidates.size() > 1) {
    throw UsageError(fmt::format("--write requires one limiter, not {}", plan.candidates.size()),
                     "name one with --algorithm, --script or --exec");
  }
  for (const auto& candidate : plan.candidates) require_costs_of_search(candidate, *plan.search);
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

const traffic::Pattern& parse_pattern(const std::vector<std::string>& operands,
                                      const std::optional<RealClock>& clock, bool has_holders,
                                      ConfigurationSource& configuration) {
  if (operands.size() > 1) {
    auto hint = hint_for(operands[1], configuration);
    for (const auto& operand : operands) {
      if (operand.size() < 2 || !operand.ends_with(',')) continue;
      const auto key = operand.substr(0, operand.size() - 1);
      hint = "the comma before ARGV is a word of its own: " + quoted_and_masked(key) + " ,";
      break;
    }
    throw UsageError("expected one PATTERN, but got " + std::to_string(operands.size()) +
                         ": the second is " + quoted_and_masked(operands[1]),
                     std::move(hint));
  }
  const bool is_closed_loop = clock && clock->is_closed_loop();
  if (operands.empty()) {
    if (is_closed_loop) return *traffic::find_pattern(kSteady);
    return has_holders ? *traffic::find_pattern(kPoisson) : traffic::patterns().front();
  }
  if (const auto* pattern = traffic::find_pattern(operands[0])) {
    if (!is_closed_loop || pattern->name == kSteady) return *pattern;
    throw UsageError(fmt::format("patterns do not apply to --rate max: unexpected argument '{}'",
                                 pattern->name));
  }
  if (limiter::find_algorithm(operands[0]) != nullptr) {
    throw UsageError(quoted_and_masked(operands[0]) + " is an algorithm, not a pattern",
                     "--algorithm " + operands[0]);
  }
  if (auto hint = hint_for(operands[0], configuration); !hint.empty()) {
    throw UsageError(quoted_and_masked(operands[0]) + " is not a pattern", std::move(hint));
  }
  auto names = names_of(traffic::patterns());
  names.push_back(kAdversary);
  refuse_word("unknown pattern " + quoted_and_masked(operands[0]), operands[0], names);
}

/// Whether the user's own limiters take part.
bool names_others(const Plan& plan) {
  return !plan.script.scripts.empty() || !plan.exec.programs.empty();
}

/// Sets the algorithms if no limiter is named.
void set_default_algorithms(Plan& plan) {
  if (!plan.algorithms.empty() || names_others(plan)) return;
  if (plan.against) {
    throw UsageError("--against compares with one limiter, but none is named",
                     "name it with --algorithm, --script or --exec");
  }
  plan.algorithms = {limiter::find_algorithm("fixed-window")};
  const auto* by_default = &limiter::default_algorithm(plan.limits);
  if (by_default != plan.algorithms.front()) plan.algorithms.push_back(by_default);
}

/// The algorithm of --against; null without one, and for a script.
const Algorithm* algorithm_of_against(const Plan& plan) {
  return plan.against ? limiter::find_algorithm(*plan.against) : nullptr;
}

/// Adds an algorithm with its limits: without a burst if only other candidates take one.
void add_algorithm(Plan& plan, const Algorithm& algorithm) {
  const auto has_burst = [](const Algorithm* one) { return one->has_burst; };
  const auto* against = algorithm_of_against(plan);
  const bool burst_is_for_others =
      names_others(plan) || (plan.against && (against == nullptr || against->has_burst)) ||
      std::any_of(plan.algorithms.begin(), plan.algorithms.end(), has_burst);
  auto limits = plan.limits;
  for (auto& limit : limits) {
    if (!algorithm.has_burst && burst_is_for_others) limit.burst.reset();
    if (!plan.concurrency) require_taken(algorithm, limit, plan.request.cost);
  }
  plan.candidates.push_back({.algorithm = &algorithm, .limits = std::move(limits)});
}

/// Adds scripts. `input_user`: what else reads standard input; empty if nothing does.
void add_scripts(Plan& plan, const ScriptOptions& options, const Invocation& invocation,
                 std::string_view input_user) {
  const auto scripts = read_scripts(options, invocation.configuration, input_user);
  if (!scripts.limiters.empty()) require_lengths(plan.limits, "a script of your own");
  plan.has_configured_script |= scripts.uses_configuration;
  for (auto candidate : scripts.limiters) {
    candidate.limits = plan.limits;
    if (plan.concurrency) ask_for_leases(candidate, plan);
    if (plan.reserve) ask_for_reservations(candidate, plan);
    require_usable(candidate);
    const auto& script = candidate.foreign;
    if (script && !script->function.empty() && names_server(invocation.connection)) {
      throw UsageError(
          fmt::format("{} is a library of functions, which runs on a private server only: FUNCTION "
                      "LOAD would replace a library that others use",
                      escape(script->name)),
          kNameNoServer);
    }
    plan.candidates.push_back(std::move(candidate));
  }
}

void add_programs(Plan& plan) {
  if (has_programs(plan)) require_lengths(plan.limits, "--exec");
  for (auto& program : parse_programs(plan.exec)) {
    plan.candidates.push_back(
        {.limits = plan.limits,
         .program = std::make_shared<const traffic::ProgramLimiter>(std::move(program))});
  }
}

/// Throws UsageError for options that do not fit whether there are programs.
void require_program_options(Plan& plan, const Options& options) {
  require_programs(options, has_programs(plan));
  if (!has_programs(plan) || !plan.real) return;
  if (plan.exec.clocks) {
    throw UsageError("--exec-clock is for the virtual clock: under the real one, all clocks agree");
  }
  for (const auto option : {"--clients", "--pipeline"}) {
    if (!options.is_given(option)) continue;
    throw UsageError(
        fmt::format("{}: a program says itself how many requests may be in flight", option));
  }
  plan.real->clients = 1;
}

/// The script of --against, of which the same is said as of --script.
ScriptOptions script_of_against(const Plan& plan, const Invocation& invocation) {
  const auto& name = *plan.against;
  if (limiter::find_script(invocation.configuration.scripts(), name) == nullptr &&
      !is_script_file(name)) {
    throw UsageError("--against: " + quoted_and_masked(name) +
                         " is neither an algorithm nor a script" +
                         did_you_mean(name, limiter::list_names(limiter::counts_requests)),
                     "a script is a file, such as ./limiter.lua, or a section [script.NAME] of the "
                     "configuration");
  }
  auto options = plan.script;
  options.scripts = {name};
  options.named_with = "--against";
  return options;
}

/// Adds the scripts, then the algorithms to compare them with, then the limiter of --against, for
/// which there must be one other.
void add_candidates(Plan& plan, const Invocation& invocation) {
  set_default_algorithms(plan);
  const bool log_is_input = plan.replay && std::count(plan.replay->files.begin(),
                                                      plan.replay->files.end(), kStandardInput) > 0;
  const std::string_view log = log_is_input ? "--replay -" : "";
  const bool against_is_input = plan.against == kStandardInput;
  add_scripts(plan, plan.script, invocation, log.empty() && against_is_input ? "--against -" : log);
  add_programs(plan);
  for (const auto* algorithm : plan.algorithms) add_algorithm(plan, *algorithm);
  if (!plan.against) return;
  if (plan.candidates.size() != 1) {
    throw UsageError(
        fmt::format("--against compares with one limiter, not {}", plan.candidates.size()),
        "name one with --algorithm, --script or --exec");
  }
  if (algorithm_of_against(plan) != nullptr) {
    add_algorithm(plan, parse_algorithm(*plan.against));
  } else {
    add_scripts(plan, script_of_against(plan, invocation), invocation, log);
  }
}

/// The traffic of leases, if nothing is said about it: long enough for leases to end, and not too
/// much.
void limit_acquires(Plan& plan) {
  constexpr int kLeases = 3;
  constexpr std::int64_t kMostAcquires = 100'000;
  auto& request = plan.request;
  if (request.duration || request.requests || plan.pattern->rate.empty()) return;
  request.duration = kLeases * std::max(plan.leases.lease, plan.leases.hold.hold);
  request.requests = kMostAcquires;
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
  if (!plan.concurrency) plan.request.limit = plan.limits.front();
  if (!plan.replay) {
    if (!plan.search) {
      plan.pattern = &parse_pattern(operands, plan.real, has_holders(plan), configuration);
    }
    if (plan.concurrency && plan.pattern) limit_acquires(plan);
    complete_request(plan);
  }
  if (auto& search = plan.search) {
    search->costs = plan.costs;
    if (search->refunds) {
      for (const auto cost : plan.costs) search->costs.push_back(-cost);
    }
    require_lengths(plan.limits, "burst adversary");
    if (has_holders(plan)) {
      require_conclusive_holders(plan);
    } else {
      require_conclusive(*search, plan.request.limit);
      require_room(plan.request, *search);
    }
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

// --- Options that cannot be used together --------------------------------------------------------

/// Throws UsageError if one of these options is given beside `other`.
void refuse_given(const Options& options, std::initializer_list<std::string_view> names,
                  std::string_view other, std::string_view why, std::string_view hint = {}) {
  for (const auto name : names) {
    if (options.is_given(name)) refuse_both(name, other, why, hint);
  }
}

void require_searchable(const Options& options, const Plan& plan) {
  refuse_given(options, {"--replay", "--rate", "--duration"}, kAdversary,
               "the search finds the times of the requests");
  refuse_given(options, {"--against"}, kAdversary, "both limiters get the same traffic",
               "save a schedule with --write, then compare: burst --replay FILE --against NAME");
  refuse_given(options, {"--requests"}, kAdversary, "--budget limits the requests that it may try");
  constexpr std::string_view kOneKey = "a search uses one key";
  constexpr std::string_view kNoRealTime = "a search covers too many windows for real time";
  refuse_given(options, {"--key-skew"}, kAdversary, kOneKey);
  if (plan.keys) refuse_both("--keys", kAdversary, kOneKey);
  refuse_given(options, {"--clients", "--pipeline"}, kAdversary, kNoRealTime);
  if (plan.is_real.value_or(false)) refuse_both("--clock", kAdversary, kNoRealTime);
  if (plan.limit_texts.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit");
  }
}

void require_virtual(const Options& options, std::string_view real) {
  refuse_given(options, {"--against"}, real, "only virtual time is the same for both");
  refuse_given(options, {"--model"}, real, "there is no server to time");
  refuse_given(options, {"--start"}, real, "real requests are sent now");
}

/// Throws UsageError for options that cannot be used together.
void require_consistent(const Options& options, const Plan& plan) {
  const bool is_real = plan.is_real.value_or(plan.max_rate);
  require_lease_options(options, plan);
  require_budget_options(options, plan);
  if (plan.search) require_searchable(options, plan);
  if (plan.is_real && is_real) require_virtual(options, "--clock real");
  if (plan.max_rate) require_virtual(options, "--rate max");
  if (plan.log.given() && !plan.max_rate) {
    refuse_given(options, {"--rate", "--duration"}, "--replay", kLogHasTimes,
                 "--rate max ignores the times");
  }
  if (plan.max_rate && !is_real) {
    throw UsageError("--rate max requires --clock real: the server sets the pace",
                     "use --clock real, or a rate like 400/s");
  }
  if (plan.clients && !is_real) {
    throw UsageError("--clients requires --clock real: the virtual clock uses one connection");
  }
  if (plan.pipeline && !plan.max_rate) throw UsageError("--pipeline requires --rate max");
  if (plan.keys && plan.log.given()) {
    refuse_both("--keys", "--replay", "the log has the keys", kNameKeys);
  }
  if (options.is_given("--key-skew") && plan.keys.value_or(1) == 1) {
    throw UsageError("--key-skew needs more than one key", "add --keys NUMBER");
  }
  if (plan.costs.size() > 1 && !plan.search) {
    throw UsageError(fmt::format("--cost must be one number for a pattern, not '{}'",
                                 fmt::join(plan.costs, ",")),
                     "rlctl burst adversary mixes costs");
  }
}

// --- The command that repeats the plan -----------------------------------------------------------

/// Comma-separated lists of the names, each short enough for a line of a narrow terminal.
std::vector<std::string> algorithm_lists(const std::vector<const Algorithm*>& algorithms) {
  constexpr std::size_t kMaxLetters = 34;
  std::vector<std::string> lists;
  std::vector<std::string_view> names;
  for (const auto* algorithm : algorithms) names.push_back(algorithm->name);
  if (names == limiter::list_names(limiter::counts_requests)) return {kAllAlgorithms};
  for (const auto name : names) {
    if (lists.empty() || lists.back().size() + 1 + name.size() > kMaxLetters) {
      lists.emplace_back(name);
    } else {
      lists.back().append(",").append(name);
    }
  }
  return lists;
}

/// The values of options that are not printed as they were given: defaults that affect the result,
/// and what operands say.
using Resolved = std::map<std::string_view, std::vector<std::string>>;

/// Every option that affects the result. The server is included only under the real clock, without
/// its password: under the virtual clock all servers give the same result.
Resolved resolved_options(const Plan& plan, const Invocation& invocation) {
  Resolved values{{"--algorithm", algorithm_lists(plan.algorithms)}, {"--config", {}}};
  if (plan.concurrency) {
    values["--lease"] = {format_duration(plan.leases.lease)};
    const auto& hold = plan.leases.hold;
    if (!hold.is_in_cost && !plan.search) {
      values["--hold"] = {format_duration(hold.hold) + (hold.is_exponential ? "~" : "")};
    }
  } else {
    for (const auto& limit : plan.limits) values["--limit"].push_back(limiter::format_limit(limit));
  }
  if (plan.reserve) {
    const auto& spend = plan.budget.spend;
    values["--hold"] = {format_duration(spend.hold)};
    if (!plan.search) {
      values["--settle-after"] = {format_duration(spend.settle_after) +
                                  (spend.is_exponential ? "~" : "")};
    }
  }
  const auto& script = plan.script;
  if (!script.scripts.empty()) {
    const bool is_configured = plan.has_configured_script;
    const auto file = is_configured ? invocation.configuration.named_file() : std::nullopt;
    if (file) values["--config"] = {*file};
    // A default would override what the configuration says.
    values["--keys"] = is_configured ? script.keys : script_keys(script);
    for (const auto& setting : script_settings()) {
      const auto& text = script.*setting.value;
      if (setting.has_lines) continue;  // repeated as given
      if (text || (!is_configured && !setting.if_not_given.empty())) {
        values[setting.option] = {text.value_or(std::string(setting.if_not_given))};
      }
    }
  }
  if (plan.keys) values["--keys"].push_back(std::to_string(*plan.keys));
  if (plan.replay) values["--replay"] = plan.replay->files;
  const bool is_random = !plan.replay && !(plan.search && plan.search->exhaustive);
  if (is_random) values["--seed"] = {std::to_string(plan.request.seed)};
  if (is_random && plan.search) values["--budget"] = {std::to_string(plan.search->budget)};
  values["--clock"] = {};  // the virtual one is the default
  if (const auto& real = plan.real) {
    values["--clock"] = {"real"};
    if (!has_programs(plan)) {  // which say themselves how many may be in flight
      values["--clients"] = {std::to_string(real->clients)};
      if (real->pipeline) values["--pipeline"] = {std::to_string(*real->pipeline)};
    }
    if (real->duration) values["--duration"] = {format_duration(*real->duration)};
  }
  if (const auto& url = invocation.connection.url) {
    values["--url"] = {redis::display(redis::parse_url(*url))};
  }
  return values;
}

/// Sets the command that repeats the plan and, of a search, the command that replays its schedule
/// from the --write file, against the same limiters.
void set_commands(Plan& plan, const Invocation& invocation) {
  const auto append = [&](std::vector<std::string>& words, const Resolved& values) {
    const auto options = invocation.options.repeated(values, plan.real.has_value());
    words.insert(words.end(), options.begin(), options.end());
    // Of a server under the virtual clock, the time does not matter.
    const auto& timeout = invocation.connection.timeout;
    if (timeout && has_programs(plan) && !plan.real)
      words.insert(words.end(), {"--timeout", *timeout});
  };
  auto values = resolved_options(plan, invocation);
  plan.command = {"rlctl", "burst"};
  if (plan.pattern) plan.command.emplace_back(plan.pattern->name);
  if (plan.search) plan.command.emplace_back(kAdversary);
  append(plan.command, values);
  if (!plan.search) return;
  for (const auto* option : {"--seed", "--budget", "--tick", "--cost", "--start", "--exhaustive",
                             "--refunds", "--no-stepping-back"}) {
    values[option] = {};
  }
  const auto& file = plan.search->write;
  plan.replay_command = {"rlctl", "burst", "--replay", file && file != "-" ? *file : "FILE"};
  append(plan.replay_command, values);
}

}  // namespace

bool has_programs(const Plan& plan) {
  return std::ranges::any_of(plan.candidates,
                             [](const auto& candidate) { return candidate.program != nullptr; });
}

void complete_plan(Plan& plan, const Invocation& invocation) {
  auto operands = invocation.operands;
  extract_keys_and_args(plan, operands, invocation.typed);
  require_consistent(invocation.options, plan);
  if (plan.search && !operands.empty()) {
    throw UsageError("unexpected argument " + quoted_and_masked(operands[0]),
                     hint_for(operands[0], invocation.configuration));
  }
  plan.real = make_clock(plan);
  if (plan.concurrency) {
    set_leases(plan, invocation.options);
  } else {
    if (plan.limit_texts.empty()) plan.limit_texts = {plan.search ? kSearchLimit : kDefaultLimit};
    plan.limits = parse_limits(plan.limit_texts, plan.burst_text);
  }
  if (plan.reserve) set_budget(plan, invocation.options);
  set_traffic(plan, operands, invocation.configuration);
  add_candidates(plan, invocation);
  require_program_options(plan, invocation.options);
  if (plan.search) require_searchable_limiters(plan);
  set_commands(plan, invocation);
  if (plan.pattern) require_traffic(plan);
}

std::chrono::microseconds search_base(const Plan& plan) {
  return traffic::window_from(plan.request.start, plan.limits.front());
}

}  // namespace rlctl::cli::burst
