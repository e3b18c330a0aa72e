#include "cli/commands/adversary/limiter.h"

#include <algorithm>
#include <chrono>

namespace rlctl::cli::adversary {

LimiterTrial::LimiterTrial(const traffic::Candidate& candidate, trial::Server* server,
                           const exec::Settings& programs, bool reserves) {
  constexpr std::chrono::microseconds kTolerance{20'000};
  if (candidate.program) {
    program_.emplace(candidate, keys_, programs);
    trial_ = std::make_unique<rlctl::adversary::ForgetfulTrial>(*program_);
    return;
  }
  if (server == nullptr && reserves) {
    trial_ = std::make_unique<rlctl::adversary::BudgetModelTrial>(candidate.limits.front());
    return;
  }
  if (server == nullptr && candidate.is_bundled_lease()) {
    trial_ = std::make_unique<rlctl::adversary::LeaseModelTrial>(candidate.limits.front());
    return;
  }
  if (server == nullptr) {
    trial_ = std::make_unique<rlctl::adversary::ModelTrial>(candidate);
    return;
  }
  const auto prefix = server->next_prefix();
  script_ = traffic::make_script(candidate, keys_, prefix, {.keys_only = !server->is_private()});
  cleaning_.emplace(*server, *script_);
  auto& connection = server->connections(1).front();
  // The bundled scripts keep all of their state in their KEYS.
  rlctl::adversary::StateScope scope;
  if (candidate.foreign) {
    scope = {.server = server->private_server(),
             .ttl_tolerance = std::min(kTolerance, candidate.limits.front().window / 10)};
  }
  auto trial = std::make_unique<rlctl::adversary::ScriptTrial>(connection, *script_, scope);
  trial->decider().stop_at(server->interrupt(), server->timeout(),
                           server->is_private() ? std::chrono::microseconds{0} : server->timeout());
  script_trial_ = trial.get();
  trial_ = std::move(trial);
}

}  // namespace rlctl::cli::adversary
