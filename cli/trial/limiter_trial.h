#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "adversary/trial.h"
#include "base/wait.h"
#include "cli/trial/server.h"
#include "script/script.h"
#include "simulation/engine.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

namespace rlctl::cli::trial {

/// A limiter on trial, with the keys of its requests: the model of an algorithm, a program, a
/// script in this process, or one on a server, whose keys are removed at the end.
class LimiterTrial {
 public:
  using MakeProgram =
      std::function<std::unique_ptr<simulation::ForgetfulDecider>(const traffic::Traffic& names)>;

  explicit LimiterTrial(std::unique_ptr<rlctl::adversary::Trial> model);
  /// Throws what `make_program` throws.
  explicit LimiterTrial(const MakeProgram& make_program);
  /// A script in this process. The arguments must outlive this. Throws what EngineDecider throws.
  LimiterTrial(const script::Candidate& candidate, const Interrupt& interrupt);
  /// A script on a server. The arguments must outlive this. Throws what make_script(), ScriptTrial
  /// and Server::connection() throw.
  LimiterTrial(const script::Candidate& candidate, Server& server);
  LimiterTrial(const LimiterTrial&) = delete;
  LimiterTrial& operator=(const LimiterTrial&) = delete;

  rlctl::adversary::Trial& trial() { return *trial_; }
  /// Null for a model.
  simulation::Decider* decider() { return decider_; }
  /// The decider of a script in this process; null for others.
  simulation::EngineDecider* engine() { return engine_; }
  /// Null for a model or a program.
  const script::Script* script() const { return engine_ ? &engine_->script() : script_.get(); }
  /// See ScriptDecider::send_one_at_a_time(); only a server needs it.
  void send_one_at_a_time();
  /// The replies that a script gave so far; empty for a model or a program.
  simulation::RepliesSeen replies() const;
  /// Nothing more will be tried. Throws what Decider::finish() throws.
  void finish();

 private:
  rlctl::adversary::TrialKeys keys_;
  std::unique_ptr<script::Script> script_;  ///< on a server
  std::optional<Cleaning> cleaning_;
  std::unique_ptr<simulation::ForgetfulDecider> own_decider_;
  std::unique_ptr<rlctl::adversary::Trial> trial_;
  simulation::Decider* decider_ = nullptr;
  simulation::EngineDecider* engine_ = nullptr;
  simulation::ScriptDecider* on_server_ = nullptr;
};

}  // namespace rlctl::cli::trial
