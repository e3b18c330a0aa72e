#pragma once

#include <memory>
#include <optional>

#include "adversary/trial.h"
#include "cli/trial/server.h"
#include "exec/program.h"
#include "traffic/script.h"

namespace rlctl::cli::adversary {

/// A limiter on trial: the model of an algorithm, a program, or a script on a server,
/// whose keys are removed at the end. Ctrl-C ends it.
class LimiterTrial {
 public:
  /// `server`: null for models; `reserves`: it is asked for reservations. The references must
  /// outlive this. Throws what make_script(), exec::Program and the trials throw.
  LimiterTrial(const traffic::Candidate& candidate, trial::Server* server,
               const exec::Settings& programs, bool reserves = false);

  rlctl::adversary::Trial& trial() { return *trial_; }
  /// The script that is asked on the server; null for a model or a program.
  const traffic::Script* script() const { return script_.get(); }
  /// Null if it is not a script.
  rlctl::adversary::ScriptTrial* script_trial() { return script_trial_; }
  /// Nothing more will be tried. Throws what exec::Program::finish() throws.
  void finish() {
    if (program_) program_->finish();
  }

 private:
  rlctl::adversary::TrialKeys keys_;
  std::unique_ptr<traffic::Script> script_;
  std::optional<trial::Cleaning> cleaning_;
  std::optional<exec::ProgramDecider> program_;
  std::unique_ptr<rlctl::adversary::Trial> trial_;
  rlctl::adversary::ScriptTrial* script_trial_ = nullptr;
};

}  // namespace rlctl::cli::adversary
