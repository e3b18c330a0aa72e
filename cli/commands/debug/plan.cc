#include "cli/commands/debug/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/holder_options.h"
#include "cli/options/options.h"
#include "limiter/check.h"
#include "lua/calls.h"
#include "lua/substitute.h"
#include "script/template.h"
#include "traffic/traffic.h"

namespace rlctl::cli::debug {
namespace {

using Operands = std::span<const std::string>;
using script::Template;

// ---- Which script ----

void set_bundled(Plan& plan, const limiter::Algorithm& algorithm) {
  plan.algorithm = &algorithm;
  plan.debuggee.name = std::string(algorithm.name) + ".lua";
  plan.debuggee.source = algorithm.script;
}

/// Takes the script's name, the first operand, off `operands`.
std::string script_word(const Plan& plan, Operands& operands) {
  if (operands.empty()) {
    throw UsageError("no SCRIPT given",
                     plan.ldb ? "rlctl debug --ldb my.lua KEY , ARG"
                              : "rlctl debug sliding-window-log KEY --limit 5/60s --trace");
  }
  const auto& word = operands.front();
  require_not_empty(word, "SCRIPT");
  operands = operands.subspan(1);
  return word;
}

/// Refuses a script on standard input if the log or the commands are read from there, too.
void require_free_input(const Plan& plan, const std::string& script) {
  if (script != kStandardInput) return;
  if (plan.reads_log_from_input()) {
    throw UsageError("--replay - and the script - both read standard input",
                     "pass a file for one of them");
  }
  if (!plan.reads_commands_from_input()) return;
  throw UsageError("standard input cannot hold both the script and the commands",
                   "add --trace, or name the file of the commands with --commands");
}

/// Sets the script, and returns its settings for a call with KEYS and ARGV.
NamedScript set_script(Plan& plan, const std::string& word, ConfigurationSource& configuration) {
  if (const auto* algorithm = limiter::find_algorithm(word)) {
    set_bundled(plan, *algorithm);
    return {.name = plan.debuggee.name, .options = plan.script_options};
  }
  auto script = find_script("", word, plan.script_options, configuration);
  require_lua(script);
  require_free_input(plan, script.path);
  script.name = script_name(script.path);
  plan.path = script.path;
  plan.debuggee.name = script.name;
  plan.debuggee.source = read_source("", script);
  add_head(script, plan.debuggee.source);
  // The keys of a server that is in use stay as they are.
  if (!plan.is_private() && plan.script_options.find("setup") == nullptr) {
    script.options.words.erase("setup");
  }
  return script;
}

/// KEYS and ARGV as redis-cli has them: KEY... , ARG...
struct CommaOperands {
  std::vector<std::string> before;
  std::string arguments;  ///< as a value of --args
};

/// None if no operand is a lone comma. Throws UsageError if ARGV is given otherwise, too.
std::optional<CommaOperands> split_at_comma(std::span<const std::string> operands,
                                            const ScriptOptions& options) {
  const auto comma = std::find(operands.begin(), operands.end(), ",");
  if (comma == operands.end()) return std::nullopt;
  if (const auto given = options.words.find("args"); given != options.words.end()) {
    throw UsageError(given->second.origin.place +
                     " and ',' cannot be combined: both give the script's ARGV");
  }
  return CommaOperands{.before = {operands.begin(), comma},
                       .arguments = joined_words({comma + 1, operands.end()})};
}

// ---- Called as by `check` ----

/// Sets limiter, key and cost for a call as `check` makes it.
void set_check(Plan& plan, const Invocation& invocation, Operands operands) {
  auto& limit_options = plan.limit_options;
  if (!limit_options.policy) limit_options.algorithm = std::string(plan.algorithm->name);
  const auto cost = plan.cost.value_or(1);
  const auto limiter = resolve_limiter(limit_options, cost, invocation.configuration);
  set_bundled(plan, *limiter.algorithm);
  plan.limits = limiter.limits;
  if (plan.replay) return;
  const auto key = only_key(limiter, operands,
                            fmt::format("rlctl debug {} KEY --limit 5/60s", plan.algorithm->name),
                            "several --limit make several keys of one");
  plan.debuggee.keys = limiter::redis_keys(key, plan.limits);
  limiter::CheckCommand command(*limiter.algorithm);
  const limiter::Request request{
      .keys = plan.debuggee.keys, .limits = plan.limits, .cost = cost, .now = plan.now};
  const auto call = command.of(request);
  plan.debuggee.arguments.assign(call.arguments.begin(), call.arguments.end());
}

// ---- Called with --keys and --args ----

/// Whether `test` holds for any word of --keys, --args and --setup.
template <typename Test>
bool any_of(const script::ForeignLimiter& foreign, Test test) {
  return std::any_of(foreign.keys.begin(), foreign.keys.end(), test) ||
         std::any_of(foreign.arguments.begin(), foreign.arguments.end(), test) ||
         std::any_of(foreign.setup.begin(), foreign.setup.end(), [&](const auto& step) {
           return std::any_of(step.words.begin(), step.words.end(), test);
         });
}
bool holds(const script::ForeignLimiter& foreign, std::string_view placeholder) {
  return any_of(foreign, [placeholder](const Template& text) { return text.holds(placeholder); });
}

/// The KEY that {key} stands for if none is given, on a private server.
const std::string kDefaultKey = "ann";
/// The limit of a script with a head if none is given, on a private server.
const std::string kDefaultLimit = "5/60s";
/// How long a reservation is held if the debugged call makes one.
constexpr std::chrono::seconds kDefaultHold{30};

/// Whether the script's own head says anything, so that it describes the call.
bool has_head_of_script(const ScriptOptions& options) {
  return std::ranges::any_of(
      options.words, [](const auto& word) { return word.second.source == WordSource::kScript; });
}

/// Gives placeholders about a lease or a reservation the values of one holder.
void set_holder(const Plan& plan, script::ForeignLimiter& foreign) {
  const bool has_hold = tells_reservation(foreign);
  foreign.has_leases = tells_lease(foreign);
  if (has_hold) foreign.hold = kDefaultHold;
  if (!tells_event(foreign) && !foreign.has_leases && !has_hold) return;
  if (!plan.replay && foreign.has_leases != has_hold) return;
  throw UsageError(fmt::format("it is not known what a holder asks {} for", escape(foreign.name)),
                   "write the words in place of the placeholders: --args 'acquire h1 ...'");
}

/// Sets the single --limit that fills templates.
void set_template_limit(Plan& plan, const NamedScript& script,
                        const script::ForeignLimiter& foreign) {
  const bool fills =
      foreign.has_leases || any_of(foreign, [](const Template& text) { return text.uses_limit(); });
  const bool is_used = fills || reading_tells_limit(script.options);
  auto limits = plan.limit_options.limits;
  if (limits.size() > 1) {
    throw UsageError("a script of your own takes one --limit", kOneLimitHint);
  }
  LimitOrigins origins;
  if (const auto* said = script.options.find("limit"); limits.empty() && said != nullptr) {
    if (!is_used) return;
    limits = {*said};
    origins.limit = script.options.origin_of("limit");
  }
  if (limits.empty() && is_used && plan.is_private() && has_head_of_script(script.options)) {
    limits = {kDefaultLimit};
  }
  if (limits.empty()) {
    if (fills) throw UsageError("--limit is missing: keys or args contain {limit} or {window}");
    if (is_used) throw UsageError("--limit is missing: the reply is compared with it");
    return;
  }
  if (!is_used) {
    throw UsageError("--limit has no effect: neither keys nor args contain {limit} or {window}",
                     "--args '{limit} {window_ms}', as the script expects");
  }
  const auto& burst = plan.limit_options.burst;
  if (!burst) origins.burst = script.options.origin_of("burst");
  plan.limits = parse_limits(limits, burst ? burst : script.options.text("burst"), origins);
  require_lengths(plan.limits, "a script of your own", origins.limit);
  script::require_usable(foreign, plan.limits.front());
}

/// Refuses KEYs that do not fit --keys, which derives keys from one KEY; without --keys, the script
/// gets the KEYs as typed.
void require_key_operands(const Plan& plan, const script::ForeignLimiter& foreign,
                          Operands operands) {
  const bool has_key = holds(foreign, "key");
  if (has_key && operands.empty()) {
    throw UsageError("no KEY given, but keys or args contain {key}",
                     fmt::format("give it after the script: rlctl debug {} KEY",
                                 plan.path.empty() ? plan.debuggee.name : plan.path));
  }
  if (has_key && operands.size() != 1) {
    throw UsageError(fmt::format("{{key}} is one KEY, but there are {}", operands.size()),
                     "write the keys in --keys");
  }
  if (!foreign.keys.empty() && !has_key && !operands.empty()) {
    throw UsageError("KEY " + quoted_and_masked(operands.front()) +
                         " has no effect: keys does not contain {key}",
                     "omit one of them");
  }
  static_cast<void>(asked_keys(nullptr, operands));
}

void fill(Plan& plan, const script::ForeignLimiter& foreign, Operands operands) {
  // A server that is not ours may hold a key of any name.
  if (operands.empty() && plan.is_private() && holds(foreign, "key")) {
    operands = {&kDefaultKey, 1};
  }
  require_key_operands(plan, foreign, operands);
  script::TemplateValues values{
      .cost = plan.cost.value_or(1),
      .now = plan.now.value_or(system_time()),
      .event = traffic::event_name(foreign.has_leases ? traffic::Event::kRequest
                                                      : traffic::Event::kReserve),
      .holder = "h1",
      .reservation = "r1",
      .hold = foreign.hold};
  if (operands.size() == 1) values.key = operands.front();
  if (!plan.limits.empty()) values.limit = plan.limits.front();
  auto& call = plan.debuggee;
  for (const auto& key : foreign.keys) key.append(call.keys.emplace_back(), values);
  if (foreign.keys.empty()) call.keys.assign(operands.begin(), operands.end());
  script::require_key_numbers(foreign, call.keys.size());
  const std::vector<std::string_view> names(call.keys.begin(), call.keys.end());
  values.keys = names;
  for (const auto& word : foreign.arguments) word.append(call.arguments.emplace_back(), values);
  plan.key = values.key;
  plan.values = values;
  plan.values.key = {};
  plan.values.keys = {};
}

/// Sets a script that calls one function of a library: the debugger runs EVAL only.
void set_library(debugger::Debuggee& debuggee, std::string source, std::string_view function) {
  debuggee.shown = std::move(source);
  debuggee.source = lua::library_as_script(debuggee.shown, function);
}

void set_foreign(Plan& plan, NamedScript script, Operands operands) {
  if (plan.replay) set_default_key(script.options);
  auto foreign = make_limiter(script, plan.debuggee.source);
  choose_function(foreign);
  if (!foreign.function.empty()) {
    plan.function = foreign.function;
    set_library(plan.debuggee, std::move(foreign.source), plan.function);
    foreign.source = plan.debuggee.source;
    foreign.function.clear();
  }
  set_holder(plan, foreign);
  set_template_limit(plan, script, foreign);
  plan.reads_reply = has_reading(script.options);
  if (plan.cost && !holds(foreign, "cost")) {
    throw UsageError("--cost has no effect: neither keys nor args contain {cost}");
  }
  if (!plan.replay) fill(plan, foreign, operands);
  plan.foreign = std::make_shared<const script::ForeignLimiter>(std::move(foreign));
}

// ---- Which call ----

void require_no_key(const Plan& plan, Operands operands) {
  if (!plan.replay || operands.empty()) return;
  throw UsageError("--replay takes no KEY, the log has the keys: unexpected argument " +
                       quoted_and_masked(operands.front()),
                   "--skip NUMBER selects the request after that many");
}

/// Refuses what a bundled script that is called as `check` calls it does not take.
void require_known_call(const Plan& plan) {
  const auto name = plan.algorithm->name;
  if (!limiter::counts_requests(*plan.algorithm)) {
    throw UsageError(fmt::format("{} does not take --limit: pass --args", name),
                     fmt::format("rlctl debug {} KEY --args '3 60000000 acquire ID'", name));
  }
  const auto& words = plan.script_options.words;
  if (words.empty()) return;
  throw UsageError(fmt::format("{} is for other scripts: the reply of {} is known",
                               words.begin()->second.origin.place, name));
}

void erase_keys_of_head(ScriptOptions& options) {
  const auto keys = options.words.find("keys");
  if (keys == options.words.end() || keys->second.source != WordSource::kScript) return;
  options.words.erase(keys);
}

void set_call(Plan& plan, const Invocation& invocation) {
  Operands operands = invocation.operands;
  if (plan.limit_options.policy) {
    require_no_key(plan, operands);
    refuse_dash(operands, invocation.typed);
    return set_check(plan, invocation, operands);
  }
  const auto word = script_word(plan, operands);
  auto script = set_script(plan, word, invocation.configuration);
  auto split = split_at_comma(operands, plan.script_options);
  if (split) {
    // As for redis-cli, these are the KEYS and ARGV, whatever the script's head says.
    script.options.words.erase("args");
    erase_keys_of_head(script.options);
    script.options.say("args", {.text = std::move(split->arguments), .origin = {"--args"}});
    operands = split->before;
  } else if (operands.size() > 1 && plan.script_options.find("args") != nullptr) {
    erase_keys_of_head(script.options);  // The typed KEYs are those that the typed ARGV are about.
  } else if (has_head_of_script(script.options)) {
    set_default_key(script.options);
  }
  require_no_key(plan, operands);
  refuse_dash(operands, std::max<std::size_t>(invocation.typed, 1) - 1);  // without SCRIPT
  const bool has_words =
      script.options.find("keys") != nullptr || script.options.find("args") != nullptr;
  if (plan.algorithm == nullptr || has_words) {
    return set_foreign(plan, std::move(script), operands);
  }
  require_known_call(plan);
  set_check(plan, invocation, operands);
}

// ---- Place and output ----

/// Refuses options that have no effect with others, or contradict them.
void require_consistent(const Plan& plan, bool json) {
  if (plan.sync && !plan.attach && !plan.is_for_redis_cli()) {
    throw UsageError("--sync requires --attach: a private server has no other clients");
  }
  if (plan.is_interactive() && json) throw UsageError("--json requires --trace or --coverage");
  if (plan.is_whole_replay() && plan.trace) {
    throw UsageError("--trace shows one request, --coverage without --skip counts all",
                     "--skip NUMBER selects the request after that many");
  }
  if (plan.reads_log_from_input() && plan.reads_commands_from_input()) {
    throw UsageError("standard input cannot hold both the log of --replay and the commands",
                     "name the log's file, or those of the commands with --commands");
  }
}

/// Refuses --now for a script that asks for the time where nothing can set its clock.
void require_own_clock(const Plan& plan) {
  if (!plan.freezes_time() || !lua::may_call_time(plan.debuggee.source)) return;
  if (plan.is_for_redis_cli()) {
    throw UsageError(
        "--now cannot be combined with redis-cli, where the script reads the server's clock",
        "omit --now, or use --trace");
  }
  if (plan.ldb) refuse_both("--now", "--ldb", "the script reads the server's clock");
}

/// Warns of a script that uses more of KEYS or ARGV than it gets, before it runs without them.
void warn_of_missing(const Plan& plan, std::string_view command) {
  const bool is_called = plan.foreign && plan.algorithm == nullptr && !plan.replay;
  if (!is_called || plan.debuggee.arguments.empty()) return;
  const auto missing = script::missing_element(plan.debuggee.source, plan.debuggee.keys.size(),
                                               plan.debuggee.arguments.size());
  if (!missing.empty()) warn("warning: " + missing, command);
}

/// Warns of a KEY that ends in a comma, as if ARGV followed.
void warn_of_comma(const Plan& plan, std::string_view command) {
  if (!plan.foreign || plan.replay || !plan.debuggee.arguments.empty()) return;
  for (const auto& key : plan.debuggee.keys) {
    if (key.size() == 1 || !key.ends_with(',')) continue;
    return warn(
        fmt::format("warning: the comma of {} is a part of this KEY; the comma before ARGV "
                    "is a word of its own: {} ,",
                    quoted_and_masked(key), quoted_and_masked(key.substr(0, key.size() - 1))),
        command);
  }
}

}  // namespace

bool Plan::reads_log_from_input() const {
  return replay && std::count(replay->files.begin(), replay->files.end(), kStandardInput) > 0;
}

bool Plan::reads_commands_from_input() const {
  return redis_cli || (is_interactive() && commands == kStandardInput);
}

std::string missing_words(const Plan& plan, debugger::Ending ending,
                          const std::optional<redis::Reply>& reply) {
  const bool is_error = ending == debugger::Ending::kRunTimeError ||
                        (ending == debugger::Ending::kReturned && reply->is_error());
  if (!is_error || plan.foreign == nullptr || plan.replay) return {};
  const auto& keys = plan.debuggee.keys;
  const auto uses = [&](std::string_view table) {
    return plan.debuggee.source.find(table) != std::string::npos;
  };
  if (keys.empty() && uses("KEYS")) return "no KEYS were given";
  if (keys.size() < 2 || !plan.debuggee.arguments.empty() || !uses("ARGV")) return {};
  return "no ARGV was given: write ' , ' (a comma between spaces) before the arguments";
}

void read_again(const Plan& plan, debugger::Debuggee& debuggee) {
  if (plan.path.empty() || plan.path == kStandardInput) return;
  debuggee.source = read_source("", {.name = debuggee.name, .path = plan.path});
  if (!plan.function.empty()) set_library(debuggee, std::move(debuggee.source), plan.function);
}

Plan make_plan(Plan plan, const Invocation& invocation) {
  plan.replay = parse_replay(plan.log, {});
  require_consistent(plan, invocation.json);
  set_call(plan, invocation);
  require_own_clock(plan);
  if (!plan.quiet) {
    warn_of_comma(plan, invocation.command);
    warn_of_missing(plan, invocation.command);
  }
  return plan;
}

}  // namespace rlctl::cli::debug
