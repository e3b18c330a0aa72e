#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/check.h"
#include "limiter/decision.h"
#include "limiter/model/model.h"
#include "redis/connection.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// What is asked: an algorithm, and its limits, all of which must allow.
struct Contestant {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};
};

/// Decides about requests, one after the other, each at the time at which it comes: nothing waits,
/// and no clock is asked.
class Decider {
 public:
  virtual ~Decider() = default;
  /// As many decisions as arrivals, in their order. Throws what the asking throws.
  virtual void decide(std::span<const Arrival> arrivals,
                      std::span<limiter::Decision> decisions) = 0;
  /// Of each key in Redis that is there now, on average; none where there is no server, or where it
  /// does not tell.
  [[nodiscard]] virtual std::optional<double> bytes_per_key() { return std::nullopt; }
};

/// By the models in C++, without a server. Memory grows with the number of keys and what their
/// windows hold.
class ModelDecider final : public Decider {
 public:
  /// Throws limiter::UsageError where the algorithm cannot be asked with these limits.
  explicit ModelDecider(const Contestant& contestant);
  void decide(std::span<const Arrival> arrivals, std::span<limiter::Decision> decisions) override;

 private:
  limiter::KeyAndLimit* state_of(std::uint32_t key);

  Contestant contestant_;
  std::vector<std::unique_ptr<limiter::KeyModel>> models_;
  /// Of each key in turn, one for each limit; without a model for a key that was not asked for yet.
  std::vector<limiter::KeyAndLimit> states_;
};

/// By the script on a server, many requests in one write; their times are the script's `now`. The
/// keys are the prefix and the traffic's names; they get TTLs as the script sets them.
class ScriptDecider final : public Decider {
 public:
  /// What it refers to must outlive it. Loads the script. Throws limiter::UsageError where the
  /// algorithm cannot be asked with these limits.
  ScriptDecider(redis::Connection& connection, const Contestant& contestant, const Traffic& traffic,
                std::string prefix);
  /// An error reply is thrown once all that were on their way are read, so that the connection can
  /// be used after it. Among them NOSCRIPT, if the script is removed meanwhile: what was not
  /// executed is not asked again, since other requests may have been decided without it.
  void decide(std::span<const Arrival> arrivals, std::span<limiter::Decision> decisions) override;
  [[nodiscard]] std::optional<double> bytes_per_key() override;

  /// Every key in Redis that may have been written.
  [[nodiscard]] std::vector<std::string> keys() const;

 private:
  const std::vector<std::string>& redis_keys(std::uint32_t key);
  void ask(std::span<const Arrival> arrivals);
  [[nodiscard]] limiter::Decision answer();
  void skip_answers() noexcept;

  redis::Connection& connection_;
  Contestant contestant_;
  const Traffic& traffic_;
  std::string prefix_;
  limiter::Checker checker_;
  std::vector<std::vector<std::string>> redis_keys_;  ///< of each of the traffic's keys
  limiter::Request request_;
};

}  // namespace rlctl::traffic
