#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/wait.h"
#include "limiter/decision.h"
#include "limiter/limit.h"
#include "limiter/model/model.h"
#include "redis/connection.h"
#include "traffic/key_aging.h"
#include "traffic/outcome.h"
#include "traffic/script.h"
#include "traffic/server_stats.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// Decides requests one after the other, each at its own time, without waiting or reading a clock.
class Decider {
 public:
  virtual ~Decider() = default;
  /// As many decisions as arrivals, in their order. Throws what the asking throws.
  virtual void decide(std::span<const Arrival> arrivals,
                      std::span<limiter::Decision> decisions) = 0;
  /// Of each key in Redis that is there now, on average; none without a server, or if it
  /// does not tell.
  [[nodiscard]] virtual std::optional<double> bytes_per_key() { return std::nullopt; }
};

/// By the models in C++, without a server. Memory grows with the number of keys and what their
/// windows hold.
class ModelDecider final : public Decider {
 public:
  /// Throws UsageError where the algorithm cannot be asked with these limits, and for a
  /// foreign limiter, which has no model.
  explicit ModelDecider(const Candidate& candidate);
  void decide(std::span<const Arrival> arrivals, std::span<limiter::Decision> decisions) override;

 private:
  limiter::KeyAndLimit* state_of(std::uint32_t key);
  void fetch(std::span<const Arrival> to_come) const;

  Candidate candidate_;
  std::vector<std::unique_ptr<limiter::KeyModel>> models_;
  /// Of each key in turn, one for each limit; without a model for a key that was not asked for yet.
  std::vector<limiter::KeyAndLimit> states_;
};

/// By a script on a server, many requests in one write; their times are the script's `now`, and
/// what passes for TTLs. (Where the times of one key's requests, one after the other in one call,
/// step back, no time passes meanwhile.)
class ScriptDecider final : public Decider {
 public:
  /// Everything it refers to must outlive it. Loads the script. Throws UsageError for one that
  /// is known not to go by `now`.
  ScriptDecider(redis::Connection& connection, Script& script);
  /// Time passes for the TTLs of the keys that requests name, where the script may decide by them;
  /// from now on for all keys of the database.
  void age_all_keys();
  /// From now on their keys end so much later, or earlier.
  void set_ttl_slack(std::chrono::microseconds slack);
  /// What Script::parse() throws is thrown, with the question, once all that were on their way are
  /// read, so that the connection can be used after it. Throws UsageError where the script
  /// was seen to ask the server for the time: its decisions are not about these arrivals.
  void decide(std::span<const Arrival> arrivals, std::span<limiter::Decision> decisions) override;
  /// Only what is the same whenever the same traffic comes.
  [[nodiscard]] std::optional<double> bytes_per_key() override;

 private:
  void ask(const Arrival& arrival);
  void end_lot();
  void skip_agings();
  [[nodiscard]] limiter::Decision answer(const Arrival& arrival);
  void skip_answers() noexcept;
  void watch_time(std::size_t asked);

  redis::Connection& connection_;
  Script& script_;
  std::int64_t answers_ = 0;
  std::optional<KeyAging> aging_;  ///< where the script may decide by TTLs
  std::deque<bool> is_aging_;      ///< of what is on its way, where there is aging_
  std::int64_t agings_ = 0;        ///< since it was last looked whether the script calls TIME
  std::uint32_t last_key_ = 0;
  std::chrono::microseconds latest_{0};  ///< of the arrivals of last_key_, in this call
  std::optional<TimeWatch> time_watch_;  ///< where the script may call TIME
};

/// Leads a traffic through a decider under the virtual clock: a request is decided as of the time
/// at which it comes, and no real time passes in between. The same traffic gives the same outcome,
/// however fast the machine is. Ends early, without an exception, where `interrupt` is raised.
[[nodiscard]] Outcome run_virtually(Traffic& traffic, Decider& decider,
                                    const std::vector<limiter::Limit>& limits,
                                    const Interrupt& interrupt, const OnDecision& on_decision = {},
                                    const OnProgress& on_progress = {});

}  // namespace rlctl::traffic
