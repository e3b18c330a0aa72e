#include <string>
#include <utility>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/run/plan.h"
#include "cli/options/completions.h"
#include "cli/options/values.h"
#include "cli/server/complete_key.h"
#include "cli/server/request_failure.h"
#include "cli/terminal/output.h"

namespace rlctl::cli::run {
namespace {

microseconds parse_lease(const std::string& text) {
  const auto lease = parse_duration_of(text, "--lease");
  if (lease >= std::chrono::seconds{1}) return lease;
  throw UsageError("--lease: " + in_quotes(text) + " is too short; use 1s or more");
}

ExitStatus parse_denied_status(const std::string& text) {
  return static_cast<ExitStatus>(parse_between(text, "--denied-status", 0, 255));
}

void add_options(Options& options, Plan& plan) {
  add_limit_options(options, plan.limit, false);
  options.value("--cost", "NUMBER",
                into(plan.cost, number_between("--cost", 1, limiter::kLargestCost)),
                "units of the limits that a run takes (default: 1)");
  options.value("--concurrency", "NUMBER",
                into(plan.concurrency, number_between("--concurrency", 1, limiter::kLargestLimit)),
                "run only while fewer than NUMBER others run, holding a lease of KEY");
  options
      .value("--lease", "TIME", into(plan.lease_duration, parse_lease),
             "how long the lease outlives rlctl if rlctl dies; renewed in time (default: 30s)")
      .needs("--concurrency");
  options
      .flag("--kill-on-loss", plan.kill_on_loss,
            "terminate the command if the lease is lost or rlctl is killed")
      .needs("--concurrency");
  options
      .optional_value("--wait", "TIME", plan.wait, into(plan.wait_at_most, duration_of("--wait")),
                      "wait until allowed, at most TIME; deny as soon as that is known not to be "
                      "enough")
      .rejects_detached(is_duration);
  options.value("-E,--denied-status", "NUMBER", into(plan.denied_status, parse_denied_status),
                "exit status if denied, 0 to 255 (default: 75)");
  add_key_option(options, plan.key_base64);
  add_on_error_option(options, plan.on_error);
  options.flag("-q,--quiet", plan.quiet, "print nothing if denied, only set the exit status");
}

constexpr const char* kExample = "rlctl run backup --limit 1/10m -- ./backup";

/// Sets what depends on the configuration and the operands, and refuses what does not go together.
void complete(Plan& plan, Invocation& invocation) {
  const bool has_limit = plan.limit.policy || !plan.limit.limits.empty();
  if (invocation.options.is_given("--cost") && !has_limit) {
    throw UsageError("--cost requires --limit");
  }
  if (has_limit) plan.limiter = resolve_limiter(plan.limit, plan.cost, invocation.configuration);
  if (!plan.limiter && !plan.concurrency) {
    throw UsageError("--limit or --concurrency is missing",
                     "--limit 1/10m allows a run in any 10 minutes, --concurrency 1 one at a time");
  }
  if (plan.concurrency && plan.limiter && plan.limiter->algorithm->has_delay) {
    throw UsageError("--concurrency cannot be combined with " +
                         std::string(plan.limiter->algorithm->name) +
                         ", whose delay would be spent holding a lease",
                     "another --algorithm, such as gcra, denies at once");
  }
  plan.key = only_key(plan.limiter.value_or(Limiter{}),
                      decode_operands(invocation.operands, plan.key_base64), kExample,
                      "the command to run follows --; quote a key that contains blanks");
}

/// Every run would have the limits to itself.
void refuse_private_server(const Connector& connector) {
  if (!connector.is_private()) return;
  throw UsageError("private: starts an empty server for this run only, which limits nothing",
                   kNamePersistentServer);
}

ExitStatus run(Plan& plan, Invocation& invocation) {
  complete(plan, invocation);
  const Program program = find_program(std::move(invocation.program));
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  refuse_private_server(connector);
  auto admitted = admit(plan, connector, invocation);
  if (!admitted.allowed) {
    if (admitted.denial && !plan.quiet) {
      write_stderr(render(*admitted.denial, invocation.command, invocation.json));
    }
    return plan.denied_status;
  }
  if (!admitted.lease) replace_process(program, invocation.interrupt);
  return supervise(plan, program, std::move(*admitted.lease), connector, invocation);
}

ExitStatus report(const Problem& problem, bool json) {
  write_stderr(render(problem, "run", json));
  const bool is_own = problem.status == kCannotExecute || problem.status == kNotFound;
  return is_own ? problem.status : kFailed;
}

}  // namespace
}  // namespace rlctl::cli::run

namespace rlctl::cli {

const Command run_command{
    .text = {.name = "run",
             .summary = "run a command if a limiter allows it",
             .synopsis = "[connection] run --limit LIMIT [options] KEY -- COMMAND...\n"
                         "[connection] run --concurrency NUMBER [options] KEY -- COMMAND...\n"
                         "[connection] run --policy NAME [options] [ARG...] -- COMMAND...",
             .about =
                 "Asks whether one more request for KEY is within the limit, as check does, and\n"
                 "runs COMMAND if so. With --concurrency, at most NUMBER run at the same time, on\n"
                 "all machines. Standard input and output belong to COMMAND.",
             .epilogue = R"(
Exit status:
  that of COMMAND, or 128+n if signal n killed it; otherwise
   75  denied (change it with -E)
  125  rlctl failed: usage, configuration, server
  126  COMMAND was found but cannot be run
  127  COMMAND was not found; nothing was taken

Examples:
  rlctl run backup --limit 1/10m -- ./backup --full
  rlctl run import --concurrency 3 --wait=5m -- ./import
  rlctl run -q -E 0 report --limit 1/d --on-error allow -- ./report
)",
             .notes = algorithm_help,
             .complete_operand = complete_key},
    .add = add_command<run::Plan, run::add_options, run::run>,
    .report = run::report,
    .declares = CommandLine::Declares::kWhatMayBeGiven,
    .takes_program = true};

}  // namespace rlctl::cli
