#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/limits.h"
#include "cli/reset/session.h"

namespace rlctl::cli {
namespace {

struct ResetOptions {
  LimitOptions limit;
  std::optional<std::string> match;
  ResetPlan plan;  ///< without what stands in the others
};

void add_reset_options(Options& options, ResetOptions& target) {
  ResetPlan& plan = target.plan;
  options.group("Options");
  constexpr std::string_view kOwnLimits = "the keys that match already tell their limits";
  constexpr std::string_view kMatchSeveral =
      "the keys of several limits match, too: --match '{login:*}:*'";
  options
      .value("--match", "PATTERN", target.match,
             "reset every limiter whose key matches, as Redis matches: * ? [ab]")
      .once("run one after the other")
      .excludes("--policy", kOwnLimits, kMatchSeveral)
      .excludes("--limit", kOwnLimits, kMatchSeveral)
      .excludes("--algorithm", kOwnLimits, kMatchSeveral)
      .excludes("--burst", kOwnLimits, kMatchSeveral);
  options.flag("--dry-run", plan.dry_run, "list what would be removed, and remove nothing");
  options.flag("--yes", plan.yes, "with --match: do not ask");
  options.flag("--force", plan.force, "remove whatever a key holds, limiter state or not");
  options.flag("-v,--verbose", plan.verbose, "with --match: also list what is not removed");
  options.flag("-q,--quiet", plan.quiet, "print no results, only set the exit status");
  options.group("Limits of KEY");
  add_optional_limit_options(options, target.limit);
}

ExitStatus run_reset(const ResetOptions& options, Invocation& invocation) {
  ResetPlan plan = options.plan;
  if (options.match) {
    const auto& operands = invocation.operands;
    if (!operands.empty()) {
      throw UsageError("--match takes no KEY: unexpected argument " + in_quotes(operands[0]),
                       "quote the pattern: a shell replaces * with file names");
    }
    if (options.match->empty()) {
      throw UsageError("--match: the pattern is empty", "is the variable set?");
    }
    plan.match = *options.match;
    return reset_matching(plan, invocation);
  }
  plan.limiter = resolve_optional_limiter(options.limit, invocation.configuration);
  return reset_keys(plan, invocation);
}

Action add_reset(Options& options) {
  auto target = std::make_shared<ResetOptions>();
  add_reset_options(options, *target);
  return [target](Invocation& invocation) { return run_reset(*target, invocation); };
}

}  // namespace

const Command reset_command{
    .name = "reset",
    .summary = "forget what limiters hold",
    .synopsis =
        "[connection] reset [options] [--] KEY...\n"
        "[connection] reset --policy NAME [options] [--] [ARGUMENT...]\n"
        "[connection] reset [options] --match PATTERN",
    .about =
        "Removes what limiters keep in Redis, so that they begin anew: of each KEY, or\n"
        "of all that match. What is no limiter's state is left, except with --force.\n"
        "The keys of several limits of a KEY are searched for in the whole database,\n"
        "unless --limit or --policy names them, as scripts should.",
    .epilogue = R"(
Exit status:
  0  something was removed, or would be
  1  nothing was there; of several KEYs, one was not; the answer was not yes
  2  wrong usage, or --yes is needed; nothing was removed
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  a KEY was left, since it is no limiter's; or the server failed (READONLY)

Examples:
  rlctl reset login:alice
  rlctl reset --limit 10/s --limit 100/min api:acme
  rlctl reset --match 'login:*' --dry-run
  rlctl reset --match 'login:*' --yes
)",
    .add = add_reset,
    .notes = algorithm_help};

}  // namespace rlctl::cli
