#include "cli/reset/session.h"

#include <unistd.h>

#include <utility>

#include "cli/term/terminal.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

ResetLines lines_of(const ResetPlan& plan) {
  if (plan.quiet) return ResetLines::kNone;
  return plan.match && !plan.verbose ? ResetLines::kChanges : ResetLines::kAll;
}

}  // namespace

ResetSession::ResetSession(const ResetPlan& plan_in, Invocation& invocation_in)
    : plan(plan_in),
      invocation(invocation_in),
      connector(invocation.connection, invocation.configuration, invocation.interrupt),
      progress(!plan.quiet && is_terminal(STDERR_FILENO)),
      report(lines_of(plan), invocation.json, invocation.out) {
  if (!plan.quiet) invocation.out.require_open();
}

void ResetSession::run(redis::Connection& connection, bool dry_run,
                       const limiter::Resetter::Report& on_outcome,
                       const std::function<void(limiter::Resetter&)>& work) {
  limiter::Resetter resetter(
      connection, {.force = plan.force, .dry_run = dry_run, .on_looked = [this] { flush(); }},
      on_outcome);
  try {
    work(resetter);
    flush();
  } catch (const OutputClosed&) {
    throw;
  } catch (const Interrupted& error) {
    const Problem bare = describe(error);
    const Problem problem = explain(bare, resetter.in_doubt());
    progress.clear();
    if (problem != bare) write_stderr(render(problem, invocation.command, invocation.json));
    flush();
    throw;
  } catch (const std::exception& error) {
    const Problem problem = explain(describe(error), resetter.in_doubt());
    progress.clear();
    flush();
    throw ProblemError(problem);
  }
}

void ResetSession::search(const std::function<void()>& work) {
  try {
    work();
  } catch (const redis::Error& error) {
    progress.clear();
    Problem problem = without_doubt(describe(error));
    if (error.code() == "NOPERM") {
      problem.hint = "with --limit or --policy nothing is searched for";
    }
    throw ProblemError(problem);
  }
  progress.clear();
}

void ResetSession::flush() {
  if (!invocation.out.pending()) return;
  progress.clear();
  invocation.out.flush();
}

void ResetSession::summarize() {
  progress.clear();
  if (!is_for_people()) return;
  write_stderr(report.summary(plan.dry_run) + "\n");
}

Problem ResetSession::explain(Problem problem, std::span<const std::string> in_doubt) const {
  problem = without_doubt(std::move(problem));
  if (!in_doubt.empty()) {
    problem.message += "; " + first_keys(in_doubt) + " may have been removed";
  }
  if (report.removed() > 0 && !plan.dry_run) {
    problem.message += "; " + count_of_keys(report.removed()) + " had been removed before";
  }
  return problem;
}

}  // namespace rlctl::cli
