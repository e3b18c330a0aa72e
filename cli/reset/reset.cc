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
  std::vector<std::string> match;
  ResetPlan plan;  ///< without what stands in the others
};

void add_reset_options(Options& options, ResetOptions& target) {
  ResetPlan& plan = target.plan;
  options.group("Options");
  options.list("--match", "PATTERN", target.match,
               "in place of KEYs: every limiter whose key matches, as Redis matches: * ? [ab]");
  options.flag("--dry-run", plan.dry_run, "say what would be removed, and remove nothing");
  options.flag("--yes", plan.yes, "with --match: do not ask");
  options.flag("--force", plan.force, "remove whatever a key holds, limiter state or not");
  options.flag("-v,--verbose", plan.verbose, "with --match: list what is left, too");
  options.flag("-q,--quiet", plan.quiet, "print no results; the exit status says it");
  options.group("Limits, of which KEY may have several");
  add_limit_options(options, target.limit);
}

void refuse_contradictions(const ResetOptions& options, const Invocation& invocation) {
  const auto& operands = invocation.operands;
  if (!operands.empty()) {
    throw UsageError(
        "--match and KEYs exclude each other: " + in_quotes(operands[0]) + " is too much",
        "a pattern needs quotes: a shell makes names of files out of *");
  }
  if (options.match.size() > 1) {
    throw UsageError("--match may be given once: " + in_quotes(options.match[1]) + " is too much",
                     "one after another, each removes what matches");
  }
  if (options.match.front().empty()) {
    throw UsageError("--match: the pattern is empty", "is the variable set?");
  }
  const auto& limit = options.limit;
  if (limit.limits.empty() && !limit.algorithm && !limit.burst && !limit.policy) return;
  throw UsageError(std::string("--match and ") + (limit.policy ? "--policy" : "--limit") +
                       " exclude each other: what matches says itself what it is",
                   "the keys of several limits match, too: --match '{login:*}:*'");
}

ExitStatus run_reset(const ResetOptions& options, Invocation& invocation) {
  ResetPlan plan = options.plan;
  if (!options.match.empty()) {
    refuse_contradictions(options, invocation);
    plan.match = options.match.front();
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
