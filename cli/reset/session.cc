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

ResetSession::ResetSession(const ResetPlan& plan, Invocation& invocation)
    : plan_(plan),
      invocation_(invocation),
      connector_(invocation.connection, invocation.configuration, invocation.interrupt),
      progress_(!plan.quiet && is_terminal(STDERR_FILENO)),
      report_(lines_of(plan), invocation.json, invocation.out) {
  if (!plan.quiet) invocation.out.require_open();
}

void ResetSession::run(redis::Connection& connection, bool dry_run,
                       const limiter::Resetter::Report& report,
                       const std::function<void(limiter::Resetter&)>& work) {
  limiter::Resetter resetter(
      connection, {.force = plan_.force, .dry_run = dry_run, .on_looked = [this] { flush(); }},
      report);
  try {
    work(resetter);
    flush();
  } catch (const OutputClosed&) {
    throw;
  } catch (const std::exception& error) {
    fail(error, resetter.in_doubt());
  }
}

void ResetSession::search(const std::function<void()>& work) {
  try {
    work();
  } catch (const redis::Error& error) {
    progress_.clear();
    Problem problem = without_doubt(describe(error));
    if (error.code() == "NOPERM") {
      problem.hint = "with --limit or --policy nothing is searched for";
    }
    throw ProblemError(problem);
  }
  progress_.clear();
}

/// Throws again what is being handled, with what had been removed before.
void ResetSession::fail(const std::exception& error, std::span<const std::string> in_doubt) {
  const Problem bare = describe(error);
  const Problem problem = explain(bare, in_doubt);
  progress_.clear();
  if (dynamic_cast<const Interrupted*>(&error) != nullptr) {
    if (problem != bare) write_stderr(render(problem, invocation_.command, invocation_.json));
    flush();
    throw;
  }
  flush();
  throw ProblemError(problem);
}

void ResetSession::flush() {
  if (!invocation_.out.pending()) return;
  progress_.clear();
  invocation_.out.flush();
}

void ResetSession::summarize() {
  progress_.clear();
  if (!is_for_people()) return;
  write_stderr(report_.summary(plan_.dry_run) + "\n");
}

Problem ResetSession::explain(Problem problem, std::span<const std::string> in_doubt) const {
  problem = without_doubt(std::move(problem));
  if (!in_doubt.empty()) {
    problem.message += "; " + first_keys(in_doubt) + " may have been removed";
  }
  if (report_.removed() > 0 && !plan_.dry_run) {
    problem.message += "; " + count_of_keys(report_.removed()) + " had been removed before";
  }
  return problem;
}

}  // namespace rlctl::cli
