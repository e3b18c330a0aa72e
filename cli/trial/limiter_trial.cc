#include "cli/trial/limiter_trial.h"

#include <chrono>
#include <utility>

namespace rlctl::cli::trial {

LimiterTrial::LimiterTrial(std::unique_ptr<rlctl::adversary::Trial> model)
    : trial_(std::move(model)) {}

LimiterTrial::LimiterTrial(const MakeProgram& make_program)
    : own_decider_(make_program(keys_)),
      trial_(std::make_unique<rlctl::adversary::ForgetfulTrial>(*own_decider_)),
      decider_(own_decider_.get()) {}

LimiterTrial::LimiterTrial(const script::Candidate& candidate, const Interrupt& interrupt) {
  auto engine = std::make_unique<simulation::EngineDecider>(candidate, keys_, interrupt);
  trial_ = std::make_unique<rlctl::adversary::EngineTrial>(*engine);
  decider_ = engine_ = engine.get();
  own_decider_ = std::move(engine);
}

LimiterTrial::LimiterTrial(const script::Candidate& candidate, Server& server) {
  const auto prefix = server.next_prefix();
  script_ = script::make_script(candidate, keys_, prefix, {.keys_only = !server.is_private()});
  cleaning_.emplace(server, *script_);
  auto& connection = server.connection();
  auto trial = std::make_unique<rlctl::adversary::ScriptTrial>(
      connection, *script_, rlctl::adversary::scope_of(candidate, server.private_server()));
  decider_ = on_server_ = &trial->decider();
  on_server_->stop_at(server.interrupt(), server.timeout(),
                      server.is_private() ? std::chrono::microseconds{0} : server.timeout());
  trial_ = std::move(trial);
}

void LimiterTrial::send_one_at_a_time() {
  if (on_server_ != nullptr) on_server_->send_one_at_a_time();
}

simulation::RepliesSeen LimiterTrial::replies() const {
  return decider_ == nullptr ? simulation::RepliesSeen{} : decider_->replies();
}

void LimiterTrial::finish() {
  if (decider_ != nullptr) decider_->finish();
}

}  // namespace rlctl::cli::trial
