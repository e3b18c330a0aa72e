#include <unistd.h>

#include <optional>
#include <string>

#include "cli/check/answer.h"
#include "cli/check/ask.h"
#include "cli/check/batch.h"
#include "cli/command.h"
#include "cli/limits.h"
#include "limiter/limit.h"

namespace rlctl::cli {
namespace {

struct CheckOptions {
  LimitOptions limit;
  std::optional<std::string> cost, now, on_error;
  OptionalValue wait, batch;
  bool peek = false;
  bool quiet = false;
};

void add_check_options(Options& options, CheckOptions& target) {
  options.group("Options");
  add_limit_options(options, target.limit);
  options.value("--cost", "NUMBER", target.cost,
                "units to take (default: 1); 0 takes nothing, a negative number is a refund");
  options.flag("--peek", target.peek, "take nothing; deny if fewer than --cost would remain");
  options
      .optional_value("--wait", "TIME", target.wait,
                      "sleep until allowed, at most TIME; deny at once if that is not enough. Also "
                      "sleep for the delay of leaky-bucket")
      .excludes("--now", "a given time does not pass")
      .excludes("--batch", "one key would hold up all others")
      .excludes("--peek", "a peek takes nothing to wait for");
  options.value("--now", "TIME", target.now, kNowHelp);
  options.value("--on-error", "ANSWER", target.on_error,
                "answer if the server gives none: fail (the default), allow or deny");
  options.flag("-q,--quiet", target.quiet, "print no results, only set the exit status");
  options.optional_value("--batch", "FILE", target.batch,
                         "check each line, KEY or KEY<TAB>COST, of FILE or standard input; "
                         "answers come in order, at once (coprocess). FILE may also follow as "
                         "an argument");
}

CheckPlan make_plan(const CheckOptions& options, ConfigurationSource& configuration) {
  CheckPlan plan{.peek = options.peek, .wait = options.wait.given, .quiet = options.quiet};
  if (options.cost) plan.cost = parse_whole(masked(*options.cost), "--cost");
  if (plan.peek && plan.cost < 0) {
    throw UsageError("--peek takes nothing, so --cost must be 0 or more, not " +
                     in_quotes(*options.cost));
  }
  plan.limiter = resolve_limiter(options.limit, plan.cost, configuration);
  if (options.now) plan.now = parse_now(*options.now);
  if (options.on_error) plan.on_error = OnError(*options.on_error);
  if (options.wait.value) plan.wait_at_most = parse_time(*options.wait.value, "--wait");
  return plan;
}

/// A line of a batch is one key, or what makes one.
void require_batchable(const CheckPlan& plan) {
  const auto* policy = plan.limiter.policy;
  if (policy == nullptr || limiter::argument_count(*policy) == 1) return;
  throw UsageError("--batch reads one argument from each line, but " + takes_arguments(*policy));
}

std::string batch_file(const CheckOptions& options, const Invocation& invocation) {
  const auto& operands = invocation.operands;
  const std::size_t files = operands.size() + (options.batch.value ? 1 : 0);
  if (files > 1) {
    throw UsageError("unexpected argument " + in_quotes(operands.back()) +
                     ": --batch reads its keys from one file or standard input");
  }
  const std::string file =
      files == 0 ? "-" : options.batch.value.value_or(operands.empty() ? "" : operands[0]);
  if (file.empty()) throw UsageError("--batch: the file name is empty");
  return file;
}

void print(const CheckPlan& plan, const Result& result, Invocation& invocation) {
  if (plan.quiet) return;
  ResultFormat(plan.limiter, invocation.json).append(invocation.out.buffer(), result);
  invocation.out.flush();
}

limiter::Decision decide(const CheckPlan& plan, const limiter::Request& request,
                         Invocation& invocation) {
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt);
  Progress progress(!plan.quiet && ::isatty(STDERR_FILENO) == 1);
  Asker asker(connector, *plan.limiter.algorithm, invocation.interrupt, progress);
  if (plan.peek) return asker.peek(request);
  if (plan.wait) return asker.wait(request, plan.wait_at_most);
  return asker.ask(request);
}

ExitStatus check_key(const CheckPlan& plan, Invocation& invocation) {
  const std::string key =
      only_key(plan.limiter, invocation.operands, "rlctl check KEY --limit 5/60s",
               plan.wait && !plan.wait_at_most
                   ? "write a time for --wait as --wait=5s"
                   : "--batch checks many keys; quote a key that contains blanks");
  limiter::Request request{.keys = limiter::redis_keys(key, plan.limiter.limits),
                           .limits = plan.limiter.limits,
                           .cost = plan.cost,
                           .now = plan.now};
  Result result{.key = key, .redis_keys = request.keys, .cost = plan.cost, .peek = plan.peek};
  Problem problem;
  try {
    result.decision = decide(plan, request, invocation);
  } catch (const std::exception& error) {
    problem = describe(error);
    if (!plan.on_error.covers(problem)) throw;
    result.decision.allowed = plan.on_error.allows();
    result.on_error = &problem;
    write_stderr(plan.on_error.warning(problem, invocation.command));
  }
  print(plan, result, invocation);
  return result.decision.allowed ? ExitStatus::kDone : ExitStatus::kDenied;
}

ExitStatus run_check(const CheckOptions& options, Invocation& invocation) {
  const CheckPlan plan = make_plan(options, invocation.configuration);
  if (options.batch.given) {
    require_batchable(plan);
    return run_batch(plan, batch_file(options, invocation), invocation);
  }
  return check_key(plan, invocation);
}

Action add_check(Options& options) {
  auto target = std::make_shared<CheckOptions>();
  add_check_options(options, *target);
  return [target](Invocation& invocation) { return run_check(*target, invocation); };
}

}  // namespace

const Command check_command{
    .name = "check",
    .summary = "ask a limiter, and record the request if it is allowed",
    .synopsis =
        "[connection] check --limit LIMIT [options] [--] KEY\n"
        "[connection] check --limit LIMIT [options] --batch [FILE]\n"
        "[connection] check --policy NAME [options] [--] [ARGUMENT...]",
    .about =
        "Asks whether one more request for KEY is within the limit, and records it if so.\n"
        "KEY is the Redis key itself; several --limit keep {KEY}:60s and so on.",
    .epilogue = R"(
Exit status:
  0  allowed
  1  denied
  2  wrong usage or input, or output that cannot be written
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  the server or the script failed (WRONGTYPE, READONLY, OOM)
  A batch ends with the worst of its lines; --on-error turns 3 to 5 into 0 or 1.

Examples:
  if rlctl check -q --limit 5/60s -- "login:$user"; then ...; fi
  rlctl check --limit 10/s --limit 100/min api:acme --json
  rlctl check --policy login alice
  rlctl check --limit 100/s --algorithm leaky-bucket --wait=5s mail:out
  cut -f1 requests.tsv | rlctl check --limit 1000/h --batch
)",
    .add = add_check,
    .notes = algorithm_help};

}  // namespace rlctl::cli
