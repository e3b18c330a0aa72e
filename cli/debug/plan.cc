#include "cli/debug/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/shell.h"
#include "base/text.h"
#include "cli/failure.h"
#include "cli/limits.h"
#include "cli/script_options.h"
#include "limiter/algorithm.h"
#include "limiter/check.h"
#include "traffic/template.h"

namespace rlctl::cli {
namespace {

std::string script_help() {
  constexpr std::size_t kColumn = 26;
  std::string out = "\nBundled scripts:\n";
  for (const auto& algorithm : limiter::algorithms()) {
    out += fmt::format("  {:{}}{}\n", algorithm.name, kColumn - 2, algorithm.summary);
  }
  return out;
}

void add_script(Options& options, DebugOptions& target) {
  constexpr std::string_view kItsOwn = "a policy has its own";
  options.group("Script");
  options
      .list("--limit", "LIMIT", target.limits,
            "requests and window: 5/60s, 100/min; for a bundled script, several make one decision")
      .comma_separated();
  options
      .value("--burst", "NUMBER", target.burst,
             "requests that may come at once in scripts with a burst (default: the limit)")
      .needs("--limit");
  options
      .value("--cost", "NUMBER", target.cost,
             "units to take (default: 1); 0 takes nothing, a negative number gives back")
      .excludes("--replay", "the log has the costs", "--cost-field names their field");
  options.value("--now", "TIME", target.now, kNowHelp)
      .excludes("--replay", "the log has the times");
  options
      .value("--policy", "NAME", target.policy,
             "use the script, limit and burst of this policy in the configuration, not SCRIPT; the "
             "operands are the arguments of its key")
      .excludes("--limit", kItsOwn)
      .excludes("--burst", kItsOwn)
      .excludes("--keys", kItsOwn)
      .excludes("--args", kItsOwn);
  options.list("--keys", "KEY", target.keys,
               "one of the KEYS of the script, with the placeholders below (default: the KEYs)");
  options.value("--args", "WORDS", target.arguments,
                "ARGV of the script, in one string that is split as a shell does, with the "
                "placeholders below");
}

void add_replay(Options& options, DebugOptions& target) {
  options.group("Recorded traffic");
  options.list("--replay", "FILE", target.replay.files,
               "requests of 'burst adversary --write' or of a log; plain or gzip, - for standard "
               "input");
  options
      .value("--skip", "NUMBER", target.skip,
             "run this many of them first, and debug the next (default: 0)")
      .needs("--replay", "", "name the log with --replay FILE");
  add_log_options(options, target.replay);
}

void add_place(Options& options, DebugOptions& target) {
  options.group("Place");
  options
      .flag("--attach", target.attach,
            "debug on the server itself, in a fork: nothing that the script writes is kept")
      .excludes("--replay", "a log is replayed on a private server");
  options
      .flag("--sync", target.sync,
            "with --attach, debug in the server process, which serves no other client; the "
            "writes of the script are kept")
      .needs("--attach", "a private server has no other clients")
      .unless("--redis-cli")
      .unless("--print-command");
  options.flag("--yes", target.yes, "do not ask before --sync").needs("--sync");
}

void add_form(Options& options, DebugOptions& target) {
  constexpr std::string_view kByHand = "commands are for stepping by hand";
  options.group("Output");
  options
      .value("--commands", "FILE", target.commands,
             "step by hand with the commands in a file, one a line; - for standard input")
      .excludes("--trace", kByHand)
      .excludes("--coverage", kByHand);
  options.flag("--trace", target.trace,
               "show every line as it is executed, its calls and replies, and the variables it "
               "changed");
  options.flag("--coverage", target.coverage,
               "show how often each line was reached; with --replay and without --skip, by all "
               "requests");
  options.value("--lcov", "FILE", target.lcov, "with --coverage, write the counts in lcov's format")
      .needs("--coverage");
  options
      .value("--max-steps", "NUMBER", target.max_steps,
             "cut the script off after this many lines (default: 100000)")
      .needs("--trace")
      .unless("--coverage");
  const auto without_the_rest = [](Options::Row& row) -> Options::Row& {
    for (const auto* other :
         {"--trace", "--coverage", "--max-steps", "--commands", "--replay", "--json"}) {
      row.excludes(other);
    }
    return row;
  };
  without_the_rest(options.flag("--redis-cli", target.redis_cli, "start redis-cli --ldb instead"))
      .excludes("--print-command");
  without_the_rest(
      options.flag("--print-command", target.print_command, "print the redis-cli --ldb command"));
  options.flag("-q,--quiet", target.quiet, "do not print where the script runs");
}

}  // namespace

void add_debug_options(Options& options, DebugOptions& target) {
  add_script(options, target);
  add_replay(options, target);
  add_place(options, target);
  add_form(options, target);
}

std::string debug_notes() {
  return script_help() + placeholder_help() + format_help();
}

namespace {

using std::chrono::microseconds;
using Operands = std::span<const std::string>;
using traffic::Template;

constexpr std::string_view kExample = "rlctl debug sliding-window-log KEY --limit 5/60s --trace";
constexpr std::string_view kKey = "key", kCost = "cost";

// ---- Which script ----

bool is_path(std::string_view script) {
  return script.find('/') != script.npos || script.ends_with(".lua");
}

const limiter::Algorithm& bundled_script(const std::string& name) {
  if (const auto* algorithm = limiter::find_algorithm(name)) return *algorithm;
  const auto names = limiter::list_names(nullptr);
  throw UsageError("no bundled script " + in_quotes(name) + did_you_mean(name, names),
                   "there is " + one_of(names) + "; a file's name has a / in it, or ends in .lua");
}

void set_bundled(DebugPlan& plan, const limiter::Algorithm& algorithm) {
  plan.algorithm = &algorithm;
  plan.debuggee.name = std::string(algorithm.name) + ".lua";
  plan.debuggee.source = algorithm.script;
}

/// Sets the script from the first operand; returns the others.
Operands set_script(DebugPlan& plan, Operands operands) {
  if (operands.empty()) throw UsageError("no SCRIPT is given", std::string(kExample));
  const auto& script = operands.front();
  if (script.empty()) throw UsageError("SCRIPT is empty", "is the variable set?");
  if (!is_path(script)) {
    set_bundled(plan, bundled_script(script));
  } else {
    plan.path = script;
    plan.debuggee.name = script_name(script);
    plan.debuggee.source = read_script_file("", script);
  }
  return operands.subspan(1);
}

// ---- Called as by `check` ----

std::int64_t parse_cost(const DebugOptions& options) {
  return options.cost ? parse_whole(masked(*options.cost), "--cost") : 1;
}

void set_arguments(ldb::Debuggee& debuggee, const limiter::Algorithm& algorithm,
                   const limiter::Request& request) {
  limiter::CheckCommand command(algorithm);
  const auto call = command.of(request);
  debuggee.keys = request.keys;
  debuggee.arguments.assign(call.arguments.begin(), call.arguments.end());
}

/// Sets a limiter, its key and its cost.
void set_check(DebugPlan& plan, const DebugOptions& options, const Invocation& invocation,
               Operands operands) {
  LimitOptions limit_options{.limits = options.limits, .burst = options.burst};
  if (options.policy) {
    limit_options.policy = options.policy;
  } else {
    limit_options.algorithm = std::string(plan.algorithm->name);
  }
  const auto cost = parse_cost(options);
  const auto limiter = resolve_limiter(limit_options, cost, invocation.configuration);
  set_bundled(plan, *limiter.algorithm);
  plan.limits = limiter.limits;
  if (plan.replay) return;
  const auto key = only_key(limiter, operands,
                            fmt::format("rlctl debug {} KEY --limit 5/60s", plan.algorithm->name),
                            "several --limit make several keys of one");
  set_arguments(plan.debuggee, *limiter.algorithm,
                {.keys = limiter::redis_keys(key, plan.limits),
                 .limits = plan.limits,
                 .cost = cost,
                 .now = plan.now});
}

// ---- Called with --keys and --args ----

/// Whether `test` holds for any placeholder in --keys and --args.
template <typename Test>
bool any_of(const traffic::ForeignLimiter& words, Test test) {
  return std::any_of(words.keys.begin(), words.keys.end(), test) ||
         std::any_of(words.arguments.begin(), words.arguments.end(), test);
}
bool holds(const traffic::ForeignLimiter& words, std::string_view placeholder) {
  return any_of(words, [placeholder](const Template& text) { return text.holds(placeholder); });
}

traffic::ForeignLimiter parse_words(const DebugOptions& options, const DebugPlan& plan) {
  traffic::ForeignLimiter words{.name = plan.debuggee.name, .source = plan.debuggee.source};
  auto keys = options.keys;
  if (keys.empty() && plan.replay) keys.emplace_back("{key}");
  parsed("--keys", [&] {
    for (const auto& key : keys) words.keys.emplace_back(key);
  });
  parsed("--args", [&] {
    for (const auto& word : shell_words(options.arguments.value_or(""))) {
      words.arguments.emplace_back(word);
    }
  });
  return words;
}

/// Sets the single --limit that fills templates.
void set_template_limit(DebugPlan& plan, const DebugOptions& options,
                        const traffic::ForeignLimiter& words) {
  const bool is_told = any_of(words, [](const Template& text) { return text.tells_limit(); });
  if (options.limits.size() > 1) {
    throw UsageError("a script that is called with --keys and --args takes one --limit",
                     "write further limits in --args");
  }
  if (options.limits.empty()) {
    if (is_told) throw UsageError("--limit is missing: --keys or --args use it");
    return;
  }
  if (!is_told) {
    throw UsageError("--limit has no effect: neither --keys nor --args contain {limit} or {window}",
                     "--args '{limit} {window_ms}', as the script wants it");
  }
  plan.limits = parse_limits(options.limits, options.burst);
  parsed("--args", [&] { traffic::require_usable(words, plan.limits.front()); });
}

/// Checks the KEYs: used as typed, unless --keys derives others from one.
void require_key_operands(const DebugOptions& options, const traffic::ForeignLimiter& words,
                          Operands operands) {
  // This is redis-cli's syntax.
  if (operands.size() > 1 &&
      std::find(operands.begin() + 1, operands.end(), ",") != operands.end()) {
    throw UsageError("',' is not a KEY: arguments do not follow it",
                     "write them as one string: --args 'WORD WORD'");
  }
  const bool has_key = holds(words, kKey);
  if (has_key && operands.size() != 1) {
    throw UsageError(operands.empty()
                         ? "no KEY is given, but --keys or --args contain {key}"
                         : fmt::format("{{key}} is one KEY, but there are {}", operands.size()),
                     "write the keys in --keys");
  }
  if (!options.keys.empty() && !has_key && !operands.empty()) {
    throw UsageError(
        "KEY " + in_quotes(operands.front()) + " has no effect: --keys does not contain {key}",
        "omit one of them");
  }
  static_cast<void>(asked_keys(nullptr, operands));
}

std::string filled(const Template& text, const traffic::TemplateValues& values) {
  std::string out;
  text.append(out, values);
  return out;
}

void fill(DebugPlan& plan, const DebugOptions& options, const traffic::ForeignLimiter& words,
          Operands operands) {
  require_key_operands(options, words, operands);
  traffic::TemplateValues values{.cost = parse_cost(options),
                                 .now = plan.now.value_or(system_time())};
  if (operands.size() == 1) values.key = operands.front();
  if (!plan.limits.empty()) values.limit = plan.limits.front();
  for (const auto& key : words.keys) plan.debuggee.keys.push_back(filled(key, values));
  if (options.keys.empty()) plan.debuggee.keys.assign(operands.begin(), operands.end());
  for (const auto& word : words.arguments) {
    plan.debuggee.arguments.push_back(filled(word, values));
  }
}

void set_words(DebugPlan& plan, const DebugOptions& options, Operands operands) {
  auto words = parse_words(options, plan);
  set_template_limit(plan, options, words);
  if (options.cost && !holds(words, kCost)) {
    throw UsageError("--cost has no effect: neither --keys nor --args contain {cost}");
  }
  if (!plan.replay) fill(plan, options, words, operands);
  plan.words = std::make_shared<const traffic::ForeignLimiter>(std::move(words));
}

// ---- Which call ----

void refuse_key(Operands operands) {
  if (operands.empty()) return;
  throw UsageError("--replay takes no KEY, the log has the keys: unexpected argument " +
                       in_quotes(operands.front()),
                   "--key-field names their field");
}

void set_replay(DebugPlan& plan, const DebugOptions& options) {
  plan.replay = parse_replay(options.replay, {});
  if (options.skip) plan.skip = parse_between(*options.skip, "--skip", 0, INT64_MAX - 1);
  plan.is_whole_replay = plan.replay && plan.coverage && !options.skip;
  if (plan.is_whole_replay && plan.trace) {
    throw UsageError("--trace shows one request, --coverage without --skip counts all",
                     "--skip NUMBER selects the request after that many");
  }
}

void require_own_contract(const DebugPlan& plan) {
  if (limiter::counts_requests(*plan.algorithm)) return;
  throw UsageError(
      fmt::format("{} is not called with --limit: it needs --args", plan.algorithm->name),
      fmt::format("rlctl debug {} KEY --args '3 60000000 acquire ID'", plan.algorithm->name));
}

void set_call(DebugPlan& plan, const DebugOptions& options, const Invocation& invocation) {
  Operands operands = invocation.operands;
  const bool has_words = !options.keys.empty() || options.arguments;
  if (options.policy) {
    if (plan.replay) refuse_key(operands);
    return set_check(plan, options, invocation, operands);
  }
  operands = set_script(plan, operands);
  if (plan.replay) refuse_key(operands);
  if (plan.algorithm == nullptr || has_words) return set_words(plan, options, operands);
  require_own_contract(plan);
  set_check(plan, options, invocation, operands);
}

// ---- Place and output ----

void set_place(DebugPlan& plan, const DebugOptions& options) {
  const bool is_classic = options.redis_cli || options.print_command;
  if (options.sync) {
    plan.where = DebugWhere::kSync;
  } else if (options.attach || is_classic) {
    plan.where = DebugWhere::kForked;
  }
}

void set_by_hand(DebugPlan& plan, const DebugOptions& options, bool json) {
  if (json) throw UsageError("--json requires --trace or --coverage");
  if (!options.commands) return;
  if (options.commands->empty()) throw UsageError("--commands: the file name is empty");
  plan.commands = *options.commands;
}

/// Standard input can serve only one purpose.
void require_one_input(const DebugPlan& plan) {
  if (!plan.interactive || !plan.replay) return;
  const bool log_is_input = std::any_of(plan.replay->files.begin(), plan.replay->files.end(),
                                        [](const auto& file) { return file == "-"; });
  if (!log_is_input || (!plan.commands.empty() && plan.commands != "-")) return;
  throw UsageError("--replay - reads standard input, from which the commands come",
                   "name the log's file, or those of the commands with --commands");
}

void set_form(DebugPlan& plan, const DebugOptions& options, bool json) {
  if (plan.redis_cli || plan.print_command) return;
  plan.interactive = !plan.trace && !plan.coverage;
  if (plan.interactive) return set_by_hand(plan, options, json);
  if (options.max_steps) {
    plan.max_steps = parse_between(*options.max_steps, "--max-steps", 1, 1'000'000'000);
  }
}

/// redis-cli sends the script unmodified, without a clock of its own.
void require_own_clock(const DebugPlan& plan) {
  if (!(plan.redis_cli || plan.print_command) || !freezes_time(plan)) return;
  const auto& source = plan.debuggee.source;
  if (source.find("TIME") == source.npos && source.find("time") == source.npos) return;
  throw UsageError("--now cannot be what the server's clock tells the script under redis-cli",
                   "leave --now out, or use --trace");
}

}  // namespace

bool freezes_time(const DebugPlan& plan) {
  return plan.words != nullptr && (plan.now || plan.replay);
}

DebugPlan make_debug_plan(const DebugOptions& options, const Invocation& invocation) {
  DebugPlan plan{.trace = options.trace,
                 .coverage = options.coverage,
                 .redis_cli = options.redis_cli,
                 .print_command = options.print_command,
                 .quiet = options.quiet,
                 .is_sure = options.yes};
  set_place(plan, options);
  set_form(plan, options, invocation.json);
  if (options.now) plan.now = parse_now(*options.now);
  set_replay(plan, options);
  require_one_input(plan);
  set_call(plan, options, invocation);
  require_own_clock(plan);
  return plan;
}

}  // namespace rlctl::cli
