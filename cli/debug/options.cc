#include "cli/debug/options.h"

#include <fmt/format.h>

#include "cli/script_options.h"
#include "limiter/algorithm.h"

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
  options.list("--limit", "LIMIT", target.limits,
               "requests and window: 5/60s, 100/min; for a bundled script, several make one "
               "decision");
  options
      .value("--burst", "NUMBER", target.burst,
             "requests that may come at once in scripts with a burst (default: the limit)")
      .needs("--limit");
  options
      .value("--cost", "NUMBER", target.cost,
             "units to take (default: 1); 0 takes nothing, a negative number is a refund")
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
            "with --attach, debug in the server process, which serves nobody else meanwhile; the "
            "writes of the script are kept")
      .needs("--attach", "a private server serves nobody else")
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

}  // namespace rlctl::cli
