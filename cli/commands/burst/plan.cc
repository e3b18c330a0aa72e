#include "cli/commands/burst/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/holders.h"
#include "cli/options/options.h"
#include "cli/trial/limiters.h"

namespace rlctl::cli::burst {
namespace {

using trial::Plan;
using trial::TrafficPlan;

constexpr std::string_view kPoisson = "poisson";

// --- The traffic ---------------------------------------------------------------------------------

/// Adds the limiters among the operands, sets the pattern, and returns the rest, files of a log.
/// Throws UsageError for a word that is none of them.
std::vector<std::string> read_operands(Plan& plan, TrafficPlan& traffic,
                                       const Invocation& invocation) {
  auto& configuration = invocation.configuration;
  std::vector<std::string> files;
  for (const auto& word : invocation.operands) {
    const auto* pattern = traffic.log.given() ? nullptr : traffic::find_pattern(word);
    if (traffic.log.given() && !trial::is_limiter(word, configuration)) {
      if (traffic::find_pattern(word) == nullptr) trial::require_log_file(word, configuration);
      files.push_back(word);
    } else if (pattern == nullptr) {
      trial::add_limiter(plan, word, configuration, names_of(traffic::patterns()));
    } else if (traffic.pattern != nullptr) {
      throw UsageError(fmt::format("expected one PATTERN, but got {} and {}", traffic.pattern->name,
                                   pattern->name));
    } else {
      traffic.pattern = pattern;
    }
  }
  if (traffic.pattern == nullptr && !traffic.log.given()) {
    traffic.pattern =
        has_holders(plan) ? traffic::find_pattern(kPoisson) : &traffic::patterns().front();
  }
  return files;
}

/// Completes the request of a pattern.
void complete_request(Plan& plan, const TrafficPlan& traffic) {
  auto& request = plan.request;
  request.keys = traffic.keys.value_or(1);
  request.cost = plan.costs.front();
  if (traffic.start) request = traffic::starting_at(*traffic.pattern, request, *traffic.start);
}

/// Sets what follows from the limits.
void complete_traffic(Plan& plan, const TrafficPlan& traffic) {
  if (!plan.concurrency) plan.request.limit = plan.limits.front();
  if (!traffic.replay) {
    if (plan.concurrency) limit_acquires(plan);
    complete_request(plan, traffic);
  }
  if (!traffic.suggest || plan.limits.size() == 1) return;
  throw UsageError("--suggest finds the limit of one window, but there are several --limit",
                   "give one for its window");
}

/// Throws UsageError, before anything starts, if the pattern rejects the request or makes fewer
/// requests than --requests asks for.
void require_traffic(const Plan& plan) {
  const auto traffic = traffic::make_traffic(*plan.pattern(), plan.request);
  const auto& requests = plan.request.requests;
  if (!requests || plan.request.duration || *requests <= traffic->size()) return;
  throw UsageError(fmt::format("--requests: {} makes {} requests, not {}", plan.pattern()->name,
                               traffic->size(), *requests),
                   "use a higher --rate or a longer --duration");
}

// --- The limiters --------------------------------------------------------------------------------

/// The algorithm of --compare; null without one, and for a script.
const limiter::Algorithm* algorithm_of_compare(const Plan& plan) {
  return plan.traffic()->compare ? limiter::find_algorithm(*plan.traffic()->compare) : nullptr;
}

/// The script of --compare, of which the same is said as of the other.
ScriptOptions script_of_compare(const Plan& plan, const Invocation& invocation) {
  const auto& name = *plan.traffic()->compare;
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

/// The scripts named by operands, and the one named by --compare.
struct Scripts {
  NamedLimiters named = {}, compared = {};

  std::vector<NamedLimiter> all() const {
    auto both = named.limiters;
    both.insert(both.end(), compared.limiters.begin(), compared.limiters.end());
    return both;
  }
};

Scripts read_all_scripts(const Plan& plan, const TrafficPlan& traffic,
                         const Invocation& invocation) {
  const bool log_is_input =
      traffic.replay &&
      std::ranges::find(traffic.replay->files, kStandardInput) != traffic.replay->files.end();
  const std::string_view log = log_is_input ? "--replay -" : "";
  const bool other_is_input = traffic.compare == kStandardInput;
  Scripts scripts{.named = read_scripts(plan.script, invocation.configuration,
                                        log.empty() && other_is_input ? "--compare -" : log)};
  if (traffic.compare && algorithm_of_compare(plan) == nullptr) {
    scripts.compared =
        read_scripts(script_of_compare(plan, invocation), invocation.configuration, log);
  }
  const auto all = scripts.all();
  if (all.empty()) refuse_words_without_script(plan.script);
  const bool has_script =
      std::ranges::any_of(all, [](const auto& each) { return each.candidate.foreign != nullptr; });
  if (traffic.suggest && has_script) {
    refuse_both("--suggest", "a script", "it runs models of the algorithms, and a script has none",
                "name an algorithm or a program");
  }
  return scripts;
}

/// Adds the limiters that are named, then the one of --compare, for which there must be one other.
void add_candidates(Plan& plan, const Scripts& scripts, const Invocation& invocation) {
  const auto& compare = plan.traffic()->compare;
  if (compare && !trial::names_limiter(plan)) {
    throw UsageError("--compare compares with one limiter, but none is named",
                     "name an algorithm, a script, or an --exec");
  }
  const auto* other = algorithm_of_compare(plan);
  trial::add_limiters_named(plan, scripts.named, invocation,
                            compare && (other == nullptr || other->has_burst));
  if (!compare) return;
  if (plan.candidates.size() != 1) {
    throw UsageError(
        fmt::format("--compare compares with one limiter, not {}", plan.candidates.size()),
        "name one: an algorithm, a script, or an --exec");
  }
  if (other != nullptr) {
    const bool first_has_burst = !plan.algorithms.empty() && plan.algorithms.front()->has_burst;
    trial::add_algorithm(plan, *other, trial::names_others(plan) || first_has_burst);
  } else {
    trial::add_scripts(plan, scripts.compared, invocation);
  }
}

// --- Options that cannot be used together --------------------------------------------------------

/// Throws UsageError if one of these options is given beside `other`.
void refuse_given(const Options& options, std::initializer_list<std::string_view> names,
                  std::string_view other, std::string_view why) {
  for (const auto name : names) {
    if (options.is_given(name)) refuse_both(name, other, why);
  }
}

/// Throws UsageError for options that cannot be used together.
void require_consistent(const Plan& plan, const TrafficPlan& traffic, const Options& options) {
  if (traffic.is_real) {
    constexpr std::string_view kRealClock = "--clock real";
    refuse_given(options, {"--compare"}, kRealClock, "only virtual time is the same for both");
    refuse_given(options, {"--model"}, kRealClock, "a model has the virtual clock");
    refuse_given(options, {"--start"}, kRealClock, "real requests are sent now");
  }
  if (traffic.keys && traffic.log.given()) {
    refuse_both("--keys", "--replay", "the log has the keys", kNameKeys);
  }
  if (plan.costs.size() > 1 || plan.costs.front() <= 0) {
    throw UsageError(fmt::format("--cost must be one number above 0 for a pattern, not '{}'",
                                 fmt::join(plan.costs, ",")),
                     "rlctl adversary takes several costs, looks of cost 0, and refunds");
  }
}

// --- The command that repeats the plan -----------------------------------------------------------

/// Every option that affects the result.
trial::Resolved resolved_options(const Plan& plan, const TrafficPlan& traffic,
                                 const Invocation& invocation) {
  auto values = trial::resolved_limiters(plan, invocation);
  add_holders(values, plan);
  if (traffic.keys) values["--keys"].push_back(std::to_string(*traffic.keys));
  if (traffic.replay) {
    values["--replay"] = traffic.replay->files;
  } else {
    values["--seed"] = {std::to_string(plan.request.seed)};
  }
  values["--clock"] = {};  // the virtual one is the default
  if (traffic.is_real) values["--clock"] = {"real"};
  return values;
}

}  // namespace

void complete_plan(Plan& plan, const Invocation& invocation) {
  auto& traffic = *plan.traffic();
  traffic.replay = parse_replay(traffic.log, read_operands(plan, traffic, invocation));
  if (traffic.log.suggest) traffic.suggest = parse_denied_share(*traffic.log.suggest);
  require_holders(plan, invocation.options);
  trial::require_algorithms(plan);
  require_consistent(plan, traffic, invocation.options);
  const auto scripts = read_all_scripts(plan, traffic, invocation);
  trial::set_limits(plan, scripts.all(), invocation.options, kDefaultLimit);
  set_holders(plan, invocation.options);
  complete_traffic(plan, traffic);
  add_candidates(plan, scripts, invocation);
  if (has_programs(plan) && plan.is_real() && plan.exec.clocks) {
    throw UsageError("--exec-clock is for the virtual clock: under the real one, all clocks agree");
  }
  plan.command = {"rlctl", "burst"};
  if (traffic.pattern != nullptr) plan.command.emplace_back(traffic.pattern->name);
  append_repeated(plan.command, plan, invocation, resolved_options(plan, traffic, invocation));
  if (traffic.pattern != nullptr) require_traffic(plan);
}

}  // namespace rlctl::cli::burst
