#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adversary/schedule.h"
#include "redis/connection.h"
#include "traffic/script.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

namespace rlctl::adversary {

/// The limiter on trial.
class Trial {
 public:
  virtual ~Trial() = default;
  /// The answers to each of the schedules, each from a state in which nothing was asked before. No
  /// answers to one of which it is chance how it is answered. Throws what the asking throws.
  [[nodiscard]] virtual std::vector<Answers> ask(std::span<const Schedule> schedules) = 0;
  /// Whether a schedule is answered so for certain. False where it turns out not to be: then more
  /// care is taken from now on, and all that was found before is to be found again.
  [[nodiscard]] virtual bool confirms(const Schedule& /*schedule*/, const Answers& /*answers*/) {
    return true;
  }
};

/// By the models in C++.
class ModelTrial final : public Trial {
 public:
  /// Throws UsageError where the algorithm cannot be asked with these limits.
  ModelTrial(const traffic::Candidate& candidate, std::int64_t cost);
  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override;

 private:
  [[nodiscard]] Answers answers_to(const Schedule& schedule) const;

  traffic::Candidate candidate_;
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

/// What a trial may take for granted of the state that a script keeps, which must not pass from one
/// schedule to the next.
struct Preconditions {
  enum class State {
    kOfNamedKeys,  ///< it is in the keys that the requests name, and these differ
    kOwnServer,    ///< it may be anywhere; the database holds nothing else, and may be emptied
    kUnderPrefix,  ///< it may be anywhere; what else the server holds is nobody's business
  };
  State state = State::kOfNamedKeys;
  /// When a TTL ends is not known better: what is answered otherwise where keys live so much longer
  /// or shorter is chance.
  microseconds ttl_tolerance{0};
  std::string prefix = {};  ///< of the keys, for kUnderPrefix
};

/// By a script on a server. Time is the schedules', for TTLs too: see traffic::KeyAging.
///
/// Schedules are asked many at a time, each with a key of its own. Where a script is seen to keep
/// state elsewhere, in keys that it makes or in one that all requests name, they are asked one
/// after the other from then on, each of an empty database; where that cannot be had, not at all.
class ScriptTrial final : public Trial {
 public:
  /// What it refers to must outlive it; the script's keys must be a TrialKeys'. Loads the script.
  ScriptTrial(redis::Connection& connection, traffic::Script& script, std::int64_t cost,
              Preconditions preconditions = {});
  ~ScriptTrial() override;
  ScriptTrial(const ScriptTrial&) = delete;
  ScriptTrial& operator=(const ScriptTrial&) = delete;
  /// Leaves no keys behind unless it throws. Throws UsageError where schedules cannot be
  /// kept apart.
  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override;
  /// By an empty database, where there may be one.
  [[nodiscard]] bool confirms(const Schedule& schedule, const Answers& answers) override;

 private:
  class NamedKeys;

  [[nodiscard]] std::vector<Answers> ask_once(std::span<const Schedule> schedules);
  [[nodiscard]] std::vector<Answers> ask_together(std::span<const Schedule> schedules);
  [[nodiscard]] std::vector<Answers> ask_apart(std::span<const Schedule> schedules);
  [[nodiscard]] bool holds_more_than_named();
  void require_apart(const Schedule& schedule);
  void take_care();
  void remove_keys();

  redis::Connection& connection_;
  std::unique_ptr<NamedKeys> script_;
  traffic::ScriptDecider decider_;
  std::int64_t cost_;
  Preconditions preconditions_;
  bool is_apart_ = false;    ///< schedules are asked one after the other
  bool is_checked_ = false;  ///< require_apart() has had nothing to say
};

}  // namespace rlctl::adversary
