#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/terminal/output.h"
#include "cli/trial/confirmation.h"
#include "cli/trial/report.h"
#include "cli/trial/server.h"

namespace rlctl::cli::trial {

/// What all runs of a report share: the server, how programs are asked, progress and warnings.
class Session {
 public:
  /// Starts or names the server, if a limiter needs one. The arguments must outlive this.
  Session(const Plan& plan, Invocation& invocation);

  const Interrupt& interrupt() const { return invocation_.interrupt; }
  /// Null if no script runs on one.
  Server* server() { return server_.get(); }
  const exec::Settings& programs() const { return programs_; }
  /// What confirms the decisions of scripts that run in this process.
  Confirmer& confirmer() { return confirmer_; }
  /// Adds what the confirmer has found out to the report, which is interrupted if that was.
  void report_confirmation(Report& report) const;

  // ---- Progress ----

  Progress& progress() { return progress_; }
  /// The progress of run `number`: its share of the work, and what all runs do.
  void show(std::size_t number, double share, std::string_view what);

  // ---- Warnings ----

  void warn(const std::string& text);
  /// That a server runs the script otherwise than it is written, if it does.
  void warn_of_change(const script::Script& script);
  /// From now on, runs are repeated, whose warnings have been written.
  void silence() { is_silent_ = true; }

  /// Runs against a limiter. If a script never ends, runs again with one request at a time, to name
  /// the request to blame.
  Run run_or_blame(const script::Candidate& candidate,
                   const std::function<Run(bool one_at_a_time)>& run);

 private:
  const Plan& plan_;
  Invocation& invocation_;
  Progress progress_;
  bool is_silent_ = false;
  std::unique_ptr<Server> server_;
  exec::Settings programs_;
  Confirmer confirmer_;
};

/// Whether the plan's progress is shown.
bool shows_progress(const Plan& plan);

}  // namespace rlctl::cli::trial
