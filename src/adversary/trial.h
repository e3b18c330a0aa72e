#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adversary/schedule.h"
#include "redis/connection.h"
#include "traffic/contestant.h"
#include "traffic/script.h"
#include "traffic/traffic.h"

namespace rlctl::adversary {

/// The limiter on trial.
class Trial {
 public:
  virtual ~Trial() = default;
  /// The answers to each of the schedules, each from a state in which nothing was asked before.
  /// Throws what the asking throws.
  [[nodiscard]] virtual std::vector<Answers> ask(std::span<const Schedule> schedules) = 0;
};

/// By the models in C++.
class ModelTrial final : public Trial {
 public:
  /// Throws limiter::UsageError where the algorithm cannot be asked with these limits.
  ModelTrial(const traffic::Contestant& contestant, std::int64_t cost);
  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override;

 private:
  [[nodiscard]] Answers answers_to(const Schedule& schedule) const;

  traffic::Contestant contestant_;
  std::int64_t cost_;
};

/// Keys of which there are as many as are asked for: what a Script is made for.
class TrialKeys final : public traffic::Traffic {
 public:
  [[nodiscard]] bool next(traffic::Arrival&) override { return false; }
  [[nodiscard]] std::string_view key_name(std::uint32_t key) const override;
  [[nodiscard]] std::int64_t size() const override { return 0; }

 private:
  mutable std::deque<std::string> names_;
};

/// By a script on a server. Time is the schedules', for TTLs too: between two requests what passes
/// between them is taken from each key's, and a key of which nothing is left is removed. (That is
/// known to some ms only, so that keys live somewhat too long rather than too short.)
class ScriptTrial final : public Trial {
 public:
  /// What it refers to must outlive it; the script's keys must be a TrialKeys'. Loads the script.
  ScriptTrial(redis::Connection& connection, traffic::Script& script, std::int64_t cost);
  /// Leaves no keys behind unless it throws.
  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override;

 private:
  redis::Connection& connection_;
  traffic::Script& script_;
  std::int64_t cost_;
};

}  // namespace rlctl::adversary
