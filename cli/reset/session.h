#pragma once

#include <exception>
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

/// What both have: a server, results, and what must be said where it ends half way.
class ResetSession {
 public:
  /// Throws ProblemError where results could not be written.
  ResetSession(const ResetPlan& plan, Invocation& invocation);

  [[nodiscard]] redis::Connection open() { return connector_.open(); }
  /// Neither JSON nor quiet was asked for.
  [[nodiscard]] bool is_for_people() const noexcept { return !plan_.quiet && !invocation_.json; }
  /// For messages.
  [[nodiscard]] std::string server() const { return connector_.name(); }
  [[nodiscard]] Progress& progress() noexcept { return progress_; }
  [[nodiscard]] ResetReport& report() noexcept { return report_; }
  [[nodiscard]] const ResetReport& report() const noexcept { return report_; }
  [[nodiscard]] const Interrupt& interrupt() const noexcept { return invocation_.interrupt; }

  /// Runs `work` with a Resetter that tells `report` each outcome. Results are written out as they
  /// come. An exception on the way says, too, what had been removed before.
  void run(redis::Connection& connection, bool dry_run, const limiter::Resetter::Report& report,
           const std::function<void(limiter::Resetter&)>& work);
  /// Runs `work`, which finds out what there is to be reset and writes nothing.
  void search(const std::function<void()>& work);
  /// Writes the results that there are.
  void flush();
  /// Says the report's summary on stderr, for people: not where they asked for JSON or quiet.
  void summarize();

 private:
  [[noreturn]] void fail(const std::exception& error, std::span<const std::string> in_doubt);
  [[nodiscard]] Problem explain(Problem problem, std::span<const std::string> in_doubt) const;

  const ResetPlan& plan_;
  Invocation& invocation_;
  Connector connector_;
  Progress progress_;
  ResetReport report_;
};

}  // namespace rlctl::cli
