#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/output.h"
#include "cli/trial/confirmation.h"
#include "cli/trial/report.h"
#include "cli/trial/server.h"
#include "exec/clocked_decider.h"

namespace rlctl::cli::trial {

/// Where scripts run.
enum class ScriptPlace {
  kProcess,  ///< in the engine of this process
  kClocked,  ///< each on a private server under the virtual clock
  kServer,   ///< on one server, which is private only under the real clock
};

/// What all runs of a report share: the server, how programs are asked, progress and warnings.
class Session {
 public:
  /// Starts or names the server, if a limiter needs one. The arguments must outlive this.
  Session(const Plan& plan, Invocation& invocation);

  const Interrupt& interrupt() const { return invocation_.interrupt; }
  ScriptPlace place() const noexcept { return place_; }
  /// Where scripts run if they run on a server; null otherwise.
  Server* server() { return server_ ? &*server_ : nullptr; }
  /// Puts a script on a private server under the virtual clock.
  std::unique_ptr<exec::ClockedDecider> clocked(const script::Candidate& candidate,
                                                const traffic::Traffic& names) const;
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

 private:
  const Plan& plan_;
  Invocation& invocation_;
  Progress progress_;
  bool is_silent_ = false;
  ScriptPlace place_;
  std::optional<Server> server_;
  exec::Settings programs_;
  Confirmer confirmer_;
};

/// Whether the plan's progress is shown.
bool shows_progress(const Plan& plan);

}  // namespace rlctl::cli::trial
