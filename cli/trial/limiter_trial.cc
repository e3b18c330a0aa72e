#include "cli/trial/limiter_trial.h"

#include <chrono>
#include <utility>

namespace rlctl::cli::trial {

LimiterTrial::LimiterTrial(std::unique_ptr<rlctl::adversary::Trial> model)
    : trial_(std::move(model)) {}

LimiterTrial::LimiterTrial(const MakeDecider& make_decider)
    : own_decider_(make_decider(keys_)),
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
  script_ = script::make_script(candidate, keys_, prefix, {.keys_only = true});
  cleaning_.emplace(server, *script_);
  auto& connection = server.connection();
  const auto keys = candidate.foreign
                        ? script::origin_of(candidate.foreign->origins, script::kKeysWord)
                        : ValueOrigin{std::string(script::kKeysWord)};
  auto trial = std::make_unique<rlctl::adversary::ScriptTrial>(
      connection, *script_, rlctl::adversary::ttl_tolerance_of(candidate), keys);
  trial->decider().stop_at(server.interrupt(), server.timeout(), server.timeout());
  decider_ = &trial->decider();
  trial_ = std::move(trial);
}

simulation::RepliesSeen LimiterTrial::replies() const {
  return decider_ == nullptr ? simulation::RepliesSeen{} : decider_->replies();
}

void LimiterTrial::finish() {
  if (decider_ != nullptr) decider_->finish();
}

}  // namespace rlctl::cli::trial
