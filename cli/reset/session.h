#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cli/command.h"
#include "cli/limits.h"
#include "cli/reset/report.h"
#include "cli/term/progress.h"
#include "limiter/reset.h"
#include "redis/connection.h"

namespace rlctl::cli {

/// What `reset` was asked to do.
struct ResetPlan {
  std::optional<std::string> match = {};  ///< else the operands are keys
  std::optional<Limiter> limiter = {};    ///< whose keys they are, where that is known
  bool dry_run = false;
  bool yes = false;
  bool force = false;
  bool verbose = false;
  bool quiet = false;
};

/// The keys that were named. Throws ProblemError where one was left.
[[nodiscard]] ExitStatus reset_keys(const ResetPlan& plan, Invocation& invocation);
/// All keys that match. Throws ProblemError where --yes is missing and nobody can be asked.
[[nodiscard]] ExitStatus reset_matching(const ResetPlan& plan, Invocation& invocation);

/// What both have in common: a server, results, and how a failure half way is reported.
struct ResetSession {
  /// Throws ProblemError where results could not be written. Both must outlive it.
  ResetSession(const ResetPlan& plan, Invocation& invocation);

  /// Neither JSON nor quiet was asked for.
  [[nodiscard]] bool is_for_people() const noexcept { return !plan.quiet && !invocation.json; }

  /// Runs `work` with a Resetter that tells `on_outcome` each outcome. Results are written out as
  /// they come. An exception also says what had been removed before.
  void run(redis::Connection& connection, bool dry_run, const limiter::Resetter::Report& on_outcome,
           const std::function<void(limiter::Resetter&)>& work);
  /// Runs `work`, which finds what is to be reset and writes nothing.
  void search(const std::function<void()>& work);
  /// Writes the results so far.
  void flush();
  /// Writes the report's summary to stderr, unless JSON or quiet was asked for.
  void summarize();

  const ResetPlan& plan;
  Invocation& invocation;
  Connector connector;
  Progress progress;
  ResetReport report;

 private:
  [[nodiscard]] Problem explain(Problem problem, std::span<const std::string> in_doubt) const;
};

}  // namespace rlctl::cli
