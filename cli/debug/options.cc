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
  options.group("Script");
  options.list("--limit", "LIMIT", target.limits,
               "how many in which time: 5/60s, 100/min; of a bundled script, several make one "
               "decision");
  options.value(
      "--burst", "NUMBER", target.burst,
      "how many may come at once where a script has that (default: as many as the limit)");
  options.value("--cost", "NUMBER", target.cost,
                "units to take (default: 1); 0 looks, below 0 gives back");
  options.value("--now", "TIME", target.now,
                "instead of the server's clock: microseconds since 1970, or ISO 8601 with a zone");
  options.value("--policy", "NAME", target.policy,
                "the script, limit and burst that the configuration has under this name, instead "
                "of SCRIPT; what follows are the arguments of its key");
  options.list("--keys", "KEY", target.keys,
               "its KEYS, one each time, with what stands in braces filled in (default: the KEYs)");
  options.value("--args", "WORDS", target.arguments,
                "its ARGV, in one string that is split as a shell does, filled in likewise");
}

void add_replay(Options& options, DebugOptions& target) {
  options.group("Recorded traffic");
  options.list("--replay", "FILE", target.replay.files,
               "requests, as 'burst adversary --write' or a log has them; plain or gzip, - for "
               "standard input");
  options.value("--skip", "NUMBER", target.skip,
                "run so many of them first, and debug the next (default: 0)");
  add_log_options(options, target.replay);
}

void add_place(Options& options, DebugOptions& target) {
  options.group("Place");
  options.flag("--attach", target.attach,
               "on the server itself, in a fork of it: nothing that the script writes is kept");
  options.flag("--sync", target.sync,
               "with --attach, in the server itself, which serves nobody else meanwhile; what the "
               "script writes is kept");
  options.flag("--yes", target.yes, "do not ask whether --sync may do that");
}

void add_form(Options& options, DebugOptions& target) {
  options.group("Output");
  options.value("--commands", "FILE", target.commands,
                "step by hand, by the commands in a file, one a line; - for standard input");
  options.flag("--trace", target.trace,
               "every line as it is executed, its calls and replies, and the variables it changed");
  options.flag("--coverage", target.coverage,
               "how often each line was reached; with --replay and no --skip, by all requests");
  options.value("--lcov", "FILE", target.lcov, "with --coverage, write that as lcov reads it");
  options.value("--max-steps", "NUMBER", target.max_steps,
                "cut it off after so many lines (default: 100000)");
  options.flag("--redis-cli", target.redis_cli, "start redis-cli --ldb with the same instead");
  options.flag("--print-command", target.print_command, "print that command");
  options.flag("-q,--quiet", target.quiet, "do not say where it runs");
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
