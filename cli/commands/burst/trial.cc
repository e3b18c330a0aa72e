#include "cli/commands/burst/trial.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rlctl::cli {

LimiterTrial::LimiterTrial(const traffic::Candidate& candidate, BurstServer* server) {
  using Place = adversary::StateScope::Place;
  constexpr std::chrono::microseconds kTolerance{20'000};
  if (server == nullptr) {
    trial_ = std::make_unique<adversary::ModelTrial>(candidate);
    return;
  }
  const auto prefix = server->next_prefix();
  script_ = traffic::make_script(candidate, keys_, prefix);
  cleaning_.emplace(*server, candidate, *script_);
  // The bundled scripts keep all of their state in their KEYS.
  adversary::StateScope scope;
  if (candidate.foreign) {
    scope = {.place = server->is_private() ? Place::kOwnServer : Place::kUnderPrefix,
             .ttl_tolerance = std::min(kTolerance, candidate.limits.front().window / 10),
             .prefix = prefix};
  }
  auto trial =
      std::make_unique<adversary::ScriptTrial>(server->connections(1).front(), *script_, scope);
  trial->stop_at(server->interrupt(), server->timeout(),
                 server->is_private() ? std::chrono::microseconds{0} : server->timeout());
  script_trial_ = trial.get();
  trial_ = std::move(trial);
}

}  // namespace rlctl::cli
