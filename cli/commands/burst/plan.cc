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

constexpr std::string_view kPoisson = "poisson";

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

// --- A search ------------------------------------------------------------------------------------

/// Throws UsageError if the search cannot find anything, since it has too few requests to exceed
/// the limit.
void require_conclusive(const Plan& plan) {
  const auto& exhaustive = plan.search->exhaustive;
  const auto& limit = plan.request.limit;
  // A request that costs more than the limit is never allowed.
  std::int64_t largest = 0;
  for (const auto cost : plan.costs) {
    if (cost <= limit.limit) largest = std::max(largest, cost);
  }
  if (!exhaustive || *exhaustive * largest > limit.limit) return;
  throw UsageError(
      fmt::format("--exhaustive: {} cannot exceed a limit of {}, so nothing would be proved",
                  counted(*exhaustive, "request"), limit.limit),
      fmt::format("use a smaller limit and more requests: --limit 2/{} --exhaustive 6",
                  format_duration(limit.window)));
}

/// Throws UsageError if the times of a search may be later than the contract allows.
void require_room(const Plan& plan) {
  const auto& request = plan.request;
  const auto& search = *plan.search;
  const adversary::SearchRequest searched{
      .limit = request.limit, .costs = plan.costs, .tries = search.tries};
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
void require_costs_of_search(const traffic::Candidate& candidate,
                             const std::vector<std::int64_t>& costs) {
  if (costs.size() == 1 || candidate.program) return;
  const auto last = costs.back();
  if (!candidate.foreign) {
    for (const auto cost : costs) {
      if (cost > 0) require_taken(*candidate.algorithm, candidate.limits.front(), cost);
    }
    if (last >= 0 || candidate.algorithm->has_refund) return;
    throw UsageError(fmt::format("--cost {}: {} takes no refunds", last, candidate.algorithm->name),
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
  for (const auto& candidate : plan.candidates) require_costs_of_search(candidate, plan.costs);
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

const traffic::Pattern& parse_pattern(const std::vector<std::string>& operands, bool has_holders,
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
  if (operands.empty()) {
    return has_holders ? *traffic::find_pattern(kPoisson) : traffic::patterns().front();
  }
  if (const auto* pattern = traffic::find_pattern(operands[0])) return *pattern;
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
  if (plan.compare) {
    throw UsageError("--compare compares with one limiter, but none is named",
                     "name it with --algorithm, --script or --exec");
  }
  plan.algorithms = {limiter::find_algorithm("fixed-window")};
  const auto* by_default = &limiter::default_algorithm(plan.limits);
  if (by_default != plan.algorithms.front()) plan.algorithms.push_back(by_default);
}

/// The algorithm of --compare; null without one, and for a script.
const Algorithm* algorithm_of_compare(const Plan& plan) {
  return plan.compare ? limiter::find_algorithm(*plan.compare) : nullptr;
}

/// Adds an algorithm with its limits: without a burst if only other candidates take one.
void add_algorithm(Plan& plan, const Algorithm& algorithm) {
  const auto has_burst = [](const Algorithm* one) { return one->has_burst; };
  const auto* other = algorithm_of_compare(plan);
  const bool burst_is_for_others =
      names_others(plan) || (plan.compare && (other == nullptr || other->has_burst)) ||
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
void require_program_options(const Plan& plan, const Options& options) {
  require_programs(options, has_programs(plan));
  if (!has_programs(plan) || !plan.is_real) return;
  if (plan.exec.clocks) {
    throw UsageError("--exec-clock is for the virtual clock: under the real one, all clocks agree");
  }
  if (options.is_given("--clients")) {
    throw UsageError("--clients: a program says itself how many requests may be in flight");
  }
}

/// The script of --compare, of which the same is said as of --script.
ScriptOptions script_of_compare(const Plan& plan, const Invocation& invocation) {
  const auto& name = *plan.compare;
  if (limiter::find_script(invocation.configuration.scripts(), name) == nullptr &&
      !is_script_file(name)) {
    throw UsageError("--compare: " + quoted_and_masked(name) +
                         " is neither an algorithm nor a script" +
                         did_you_mean(name, limiter::list_names(limiter::counts_requests)),
                     "a script is a file, such as ./limiter.lua, or a section [script.NAME] of the "
                     "configuration");
  }
  auto options = plan.script;
  options.scripts = {name};
  options.named_with = "--compare";
  return options;
}

/// Adds the scripts, then the algorithms to compare them with, then the limiter of --compare, for
/// which there must be one other.
void add_candidates(Plan& plan, const Invocation& invocation) {
  set_default_algorithms(plan);
  const bool log_is_input = plan.replay && std::count(plan.replay->files.begin(),
                                                      plan.replay->files.end(), kStandardInput) > 0;
  const std::string_view log = log_is_input ? "--replay -" : "";
  const bool other_is_input = plan.compare == kStandardInput;
  add_scripts(plan, plan.script, invocation, log.empty() && other_is_input ? "--compare -" : log);
  add_programs(plan);
  for (const auto* algorithm : plan.algorithms) add_algorithm(plan, *algorithm);
  if (!plan.compare) return;
  if (plan.candidates.size() != 1) {
    throw UsageError(
        fmt::format("--compare compares with one limiter, not {}", plan.candidates.size()),
        "name one with --algorithm, --script or --exec");
  }
  if (algorithm_of_compare(plan) != nullptr) {
    add_algorithm(plan, parse_algorithm(*plan.compare));
  } else {
    add_scripts(plan, script_of_compare(plan, invocation), invocation, log);
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
      plan.pattern = &parse_pattern(operands, has_holders(plan), configuration);
    }
    if (plan.concurrency && plan.pattern) limit_acquires(plan);
    complete_request(plan);
  }
  if (plan.search) {
    require_lengths(plan.limits, "burst adversary");
    if (has_holders(plan)) {
      require_conclusive_holders(plan);
    } else {
      require_conclusive(plan);
      require_room(plan);
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
  refuse_given(options, {"--compare"}, kAdversary, "both limiters get the same traffic",
               "save a schedule with --write, then compare: burst --replay FILE --compare NAME");
  refuse_given(options, {"--requests"}, kAdversary, "--tries limits the requests that it may try");
  constexpr std::string_view kOneKey = "a search uses one key";
  constexpr std::string_view kNoRealTime = "a search covers too many windows for real time";
  refuse_given(options, {"--key-skew"}, kAdversary, kOneKey);
  if (plan.keys) refuse_both("--keys", kAdversary, kOneKey);
  refuse_given(options, {"--clients"}, kAdversary, kNoRealTime);
  if (plan.is_real) refuse_both("--clock", kAdversary, kNoRealTime);
  if (plan.limit_texts.size() > 1) {
    throw UsageError("adversary searches against one limit, but there are several --limit");
  }
}

void require_options_of_real_clock(const Options& options) {
  constexpr std::string_view kRealClock = "--clock real";
  refuse_given(options, {"--compare"}, kRealClock, "only virtual time is the same for both");
  refuse_given(options, {"--model"}, kRealClock, "a model has the virtual clock");
  refuse_given(options, {"--start"}, kRealClock, "real requests are sent now");
}

/// Throws UsageError for options that cannot be used together.
void require_consistent(const Options& options, const Plan& plan) {
  require_lease_options(options, plan);
  require_budget_options(options, plan);
  if (plan.search) require_searchable(options, plan);
  if (plan.is_real) require_options_of_real_clock(options);
  if (plan.log.given()) refuse_given(options, {"--rate", "--duration"}, "--replay", kLogHasTimes);
  if (options.is_given("--clients") && !plan.is_real) {
    throw UsageError("--clients requires --clock real: the virtual clock uses one connection");
  }
  if (plan.keys && plan.log.given()) {
    refuse_both("--keys", "--replay", "the log has the keys", kNameKeys);
  }
  if (options.is_given("--key-skew") && plan.keys.value_or(1) == 1) {
    throw UsageError("--key-skew needs more than one key", "add --keys NUMBER");
  }
  if (!plan.search && (plan.costs.size() > 1 || plan.costs.front() <= 0)) {
    throw UsageError(fmt::format("--cost must be one number above 0 for a pattern, not '{}'",
                                 fmt::join(plan.costs, ",")),
                     "rlctl burst adversary takes several costs, looks of cost 0, and refunds");
  }
  if (plan.search) require_cost_above_0(plan.costs);
  if (plan.search && plan.costs.back() <= 0 && plan.search->write) {
    refuse_both("--cost " + std::to_string(plan.costs.back()), "--write",
                "a log has only costs above 0");
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
  if (is_random && plan.search) values["--tries"] = {std::to_string(plan.search->tries)};
  values["--clock"] = {};  // the virtual one is the default
  if (plan.is_real) {
    values["--clock"] = {"real"};
    // Programs say themselves how many requests may be in flight.
    if (!has_programs(plan)) values["--clients"] = {std::to_string(plan.clients)};
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
    const auto options = invocation.options.repeated(values, plan.is_real);
    words.insert(words.end(), options.begin(), options.end());
    // Of a server under the virtual clock, the time does not matter.
    const auto& timeout = invocation.connection.timeout;
    if (timeout && has_programs(plan) && !plan.is_real)
      words.insert(words.end(), {"--timeout", *timeout});
  };
  auto values = resolved_options(plan, invocation);
  plan.command = {"rlctl", "burst"};
  if (plan.pattern) plan.command.emplace_back(plan.pattern->name);
  if (plan.search) plan.command.emplace_back(kAdversary);
  append(plan.command, values);
  if (!plan.search) return;
  for (const auto* option :
       {"--seed", "--tries", "--cost", "--start", "--exhaustive", "--monotonic"}) {
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
