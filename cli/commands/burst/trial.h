#pragma once

#include <memory>
#include <optional>

#include "adversary/trial.h"
#include "cli/commands/burst/server.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// A limiter of burst on trial: the model of an algorithm, or a script on a server, whose keys are
/// removed at the end. Ctrl-C ends it.
class LimiterTrial {
 public:
  /// `server`: null for models. The references must outlive this. Throws what make_script() and the
  /// trials throw.
  LimiterTrial(const traffic::Candidate& candidate, BurstServer* server);

  [[nodiscard]] adversary::Trial& trial() { return *trial_; }
  /// Null for a model.
  [[nodiscard]] adversary::ScriptTrial* script_trial() { return script_trial_; }

 private:
  adversary::TrialKeys keys_;
  std::unique_ptr<traffic::Script> script_;
  std::optional<Cleaning> cleaning_;
  std::unique_ptr<adversary::Trial> trial_;
  adversary::ScriptTrial* script_trial_ = nullptr;
};

}  // namespace rlctl::cli
