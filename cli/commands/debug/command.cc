#include "cli/commands/debug/plan.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/app/worker.h"
#include "cli/commands/debug/view.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "cli/server/connection.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::debug {
namespace {

// ---- Options ----

std::string parse_commands(const std::string& text) {
  if (text.empty()) throw UsageError("--commands: the file name is empty");
  return text;
}

void add_script(Options& options, Plan& plan) {
  options.group("Script");
  options
      .list("--limit", "LIMIT", plan.limit_options.limits,
            "requests and window: 5/60s, 100/min; for a bundled script, several make one decision")
      .splits_at_commas();
  options.value("--burst", "NUMBER", plan.limit_options.burst, kScriptBurstHelp).needs("--limit");
  options.value("--cost", "NUMBER", into(plan.cost, parse_cost), kCostHelp)
      .excludes("--replay", kLogHasCosts);
  options.value("--now", "TIME", into(plan.now, parse_now), kNowHelp)
      .excludes("--replay", kLogHasTimes);
  auto policy = options
                    .value("--policy", "NAME", plan.limit_options.policy,
                           "use script, limits and burst of a configured policy (the operands are "
                           "the arguments of its key)")
                    .completes(complete_policy);
  policy.excludes_each({"--limit", "--burst", "--keys"}, kPolicyDefinesIt);
  for (const auto& word : script_words()) {
    if (!word.option.empty()) policy.excludes(word.option, kPolicyDefinesIt);
  }
  policy.excludes("--head", kPolicyDefinesIt);
  options.list(
      "--keys", "KEY", [&plan](const std::string& key) { add_key(plan.script_options, key); },
      "one of the KEYS of the script (with the placeholders below; default: the KEYs)");
  add_script_options(options, plan.script_options);
}

void add_replay(Options& options, Plan& plan) {
  options.group("Recorded traffic");
  options
      .list("--replay", "FILE", plan.log.files,
            "requests of 'adversary --write' or of a log; plain or gzip, - for standard "
            "input")
      .takes_stream();
  options
      .value("--skip", "NUMBER", into(plan.skip, number_between("--skip", 0, INT64_MAX - 1)),
             "run this many of them first, and debug the next (default: 0)")
      .needs("--replay", "", kNameLog);
}

void add_place(Options& options, Plan& plan) {
  options.group("Place");
  options
      .flag("--attach", plan.attach,
            "with --ldb, debug in a fork of the server (what the script writes is not kept)")
      .excludes("--setup", "the keys of a server that is in use stay as they are")
      .needs("--ldb", "only Redis's debugger runs a script on a server");
  options.flag("--sync", plan.sync,
               "with --attach, debug in the server process (which then serves no other client; "
               "what the script writes is kept)");
  options.flag("--yes", plan.yes, "do not ask before --sync").needs("--sync");
}

void add_ldb(Options& options, Plan& plan) {
  options.group("Debugger");
  options
      .flag(
          "--ldb", plan.ldb,
          "use Redis's own debugger, as redis-cli --ldb does (without a named server, on an empty "
          "private one)")
      .excludes_each({"--trace", "--coverage", "--lcov", "--fail-under", "--replay", "--dap"},
                     "Redis's debugger only steps", "leave out --ldb")
      .excludes("--json", "the answers are text", "--trace --json prints objects");
}

void add_output(Options& options, Plan& plan) {
  options.group("Output");
  options
      .value("--commands", "FILE", into(plan.commands, parse_commands),
             "step by hand with the commands in a file (one per line; - for standard input)")
      .excludes_each({"--trace", "--coverage"})
      .takes_stream();
  options.flag(
      "--trace", plan.trace,
      "show every line as it is executed (its calls and replies, and the variables it changed)");
  options.flag("--coverage", plan.coverage,
               "show how often each line was reached; with --replay and without --skip, by all "
               "requests");
  options.value("--lcov", "FILE", plan.lcov, "with --coverage, write the counts in lcov's format")
      .needs("--coverage")
      .takes_stream();
  options
      .value("--fail-under", "PERCENT",
             into(plan.min_coverage,
                  [](const auto& text) { return parse_percentage(text, "--fail-under"); }),
             "exit with status 1 below this coverage, such as 90% (with --coverage)")
      .needs("--coverage");
  const std::initializer_list<std::string_view> of_rlctl = {"--trace",  "--coverage", "--commands",
                                                            "--replay", "--json",     "--setup"};
  const std::initializer_list<std::string_view> of_terminal = {
      "--trace", "--coverage", "--commands", "--json", "--redis-cli", "--print-command"};
  options
      .optional_value("--dap", "PATH", plan.dap, into(plan.dap_socket),
                      "serve an editor with the Debug Adapter Protocol; on standard input and "
                      "output, or at this Unix socket, which is created")
      .excludes_each(of_terminal);
  options.flag("--redis-cli", plan.redis_cli, "start redis-cli --ldb instead")
      .excludes("--print-command")
      .excludes_each(of_rlctl);
  options.flag("--print-command", plan.print_command, "print the redis-cli --ldb command")
      .excludes_each(of_rlctl);
  options.flag("-q,--quiet", plan.quiet, "do not print where the script runs");
}

void add_options(Options& options, Plan& plan) {
  add_ldb(options, plan);
  add_script(options, plan);
  add_replay(options, plan);
  add_place(options, plan);
  add_output(options, plan);
}

/// The sections of --help that list scripts and placeholders.
std::string notes() {
  return help_section("Bundled scripts", limiter::algorithms()) + script_help();
}

// ---- Running ----

ExitStatus run(const Plan& given, Invocation& invocation) {
  if (!given.ldb && !given.redis_cli && !given.print_command) {
    if (const auto ended = run_in_worker(invocation)) return *ended;
  }
  if (given.dap) {
    if (invocation.operands.empty()) return run_dap(given, invocation);
    throw UsageError("--dap takes no operand: the editor's launch request names the script: " +
                         quoted_and_masked(invocation.operands.front()),
                     "\"program\": \"${file}\"");
  }
  auto plan = make_plan(given, invocation);
  if (plan.is_for_redis_cli()) return run_redis_cli(plan, invocation);
  try {
    return plan.ldb ? run_ldb(plan, invocation) : run_session(plan, invocation);
  } catch (const OutputClosed&) {
    throw;
  } catch (const std::exception& error) {
    // Show what was traced so far.
    invocation.out.flush();
    // With --attach, a signal interrupts no wait, but it still ends the process.
    const bool is_ending = dynamic_cast<const Interrupted*>(&error) != nullptr;
    if (invocation.interrupt.signal() != 0 && !is_ending) {
      write_stderr(render(describe(error), invocation.command, invocation.json));
      throw Interrupted();
    }
    throw;
  }
}

/// Completes the script, unless a policy has it.
Completions complete_operand(const CompletionContext& typed) {
  const bool is_named = typed.options.is_given("--policy");
  return typed.operands.empty() && !is_named ? complete_limiter(typed) : Completions{};
}

}  // namespace
const Command kCommand{
    .text =
        {.name = "debug",
         .summary = "run a script line by line, and show what each line did",
         .synopsis = "[connection] debug --ldb SCRIPT [KEY...] [, ARG...] [options]\n"
                     "[connection] debug SCRIPT [KEY...] [, ARG...] [--trace] [options]\n"
                     "[connection] debug --policy NAME [--trace] [options] [ARGUMENT...]\n"
                     "debug SCRIPT --replay FILE [--skip NUMBER] [--trace] [options]\n"
                     "[connection] debug --dap[=PATH] [options]",
         .about =
             "Runs a bundled script, a file, or a script that the configuration names, step by\n"
             "step ('help' lists the commands), or with --trace all at once, showing each\n"
             "line, its calls, their replies, and the variables it changed. It runs in this\n"
             "process, as in Redis 7, on copies of the script's keys from the server that the\n"
             "connection names, which is only read; with --ldb, in Redis's own debugger.",
         .brief =
             "--ldb --limit --policy --keys --args --replay --commands --trace --coverage --dap",
         .statuses =
             {
                 "the script returned, or you left or aborted it",
                 "it was cut off (after 100000 lines; with --ldb, after seconds), --sync was\n"
                 "not confirmed, or the coverage is below --fail-under",
                 "wrong usage or input, a command that failed or is not implemented here,\n"
                 "or output that cannot be written",
                 kStatusUnreachable,
                 kStatusRefused,
                 "it raised an error, replied with one, or does not compile",
             },
         .epilogue = R"(
Examples:
  rlctl debug --ldb my.lua login:ann , 5 60000
  rlctl debug sliding-window-log login:ann --limit 5/60s
  rlctl debug sliding-window-log login:ann --limit 5/60s --trace
  rlctl debug my.lua 'hist:ann' --args '60 {limit}' --limit 5/60s --trace --json
  rlctl debug my.lua KEY1 KEY2 , '{now_ms}' 60 --trace
  rlctl debug my.lua --args '{now_ms}' --limit 5/60s --replay found.log --skip 3
  rlctl debug gcra --limit 10/s --replay found.log --coverage --lcov gcra.info
  rlctl debug gcra --limit 10/s --replay found.log --coverage --fail-under 90%
  rlctl debug --policy login alice --print-command
  rlctl -u private: debug --dap
  rlctl debug --dap=./dap.sock
)",
         .notes = notes,
         .complete_operand = complete_operand},
    .add = add_command<Plan, add_options, run>,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::debug
