#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adversary/schedule.h"
#include "base/wait.h"
#include "limiter/decision.h"
#include "redis/connection.h"
#include "traffic/script.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

namespace rlctl::adversary {

/// A limiter on trial.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Runs each schedule on an empty state, and returns its answers: none if they depend on chance.
  /// Throws what the limiter throws, and Interrupted if an interrupt ended it.
  [[nodiscard]] virtual std::vector<Answers> ask(std::span<const Schedule> schedules) = 0;
  /// What the limiter holds after each schedule of the last ask(). If two are equal, it answers
  /// every request that follows alike. Empty if unknown.
  [[nodiscard]] virtual std::vector<std::string> contents() const { return {}; }
  /// Whether a schedule really has these answers. If not, the trial is more careful from now on,
  /// and the caller must repeat the search.
  [[nodiscard]] virtual bool confirms(const Schedule& /*schedule*/, const Answers& /*answers*/) {
    return true;
  }
};

[[nodiscard]] Answer answer_of(const limiter::Decision& decision);

/// A trial of the models in C++.
class ModelTrial final : public Trial {
 public:
  /// Throws UsageError if the algorithm does not support these limits.
  explicit ModelTrial(const traffic::Candidate& candidate);
  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override;

 private:
  [[nodiscard]] Answers answers_to(const Schedule& schedule) const;

  traffic::Candidate candidate_;
};

/// Provides any number of keys, for a Script.
class TrialKeys final : public traffic::Traffic {
 public:
  [[nodiscard]] bool next(traffic::Arrival&) override { return false; }
  [[nodiscard]] std::string_view key_name(std::uint32_t key) const override;
  [[nodiscard]] std::int64_t size() const override { return 0; }

 private:
  mutable std::deque<std::string> names_;
};

/// Where a script may keep its state, which must not pass from one schedule to the next.
struct StateScope {
  enum class Place {
    kNamedKeys,    ///< in the keys that the requests name, which differ between schedules
    kOwnServer,    ///< anywhere in the database, which holds nothing else and may be emptied
    kUnderPrefix,  ///< anywhere under the prefix; the server's other keys must not be touched
  };
  Place place = Place::kNamedKeys;
  /// The precision of TTLs: answers that change if keys live this much longer or shorter depend on
  /// chance.
  microseconds ttl_tolerance{0};
  std::string prefix = {};  ///< of the keys, for kUnderPrefix
};

/// A trial of a script on a server. Its time is that of the schedules, for TTLs too: see
/// traffic::KeyAging.
///
/// Runs many schedules at a time, each with its own key. Once a script turns out to keep state
/// elsewhere, in keys that it makes up or in one that all requests name, runs them one at a time,
/// each on an empty database. If the database must not be emptied, that is an error.
class ScriptTrial final : public Trial {
 public:
  /// Loads the script, whose keys must come from a TrialKeys. The references must outlive this.
  ScriptTrial(redis::Connection& connection, traffic::Script& script, StateScope scope = {});
  ~ScriptTrial() override;
  ScriptTrial(const ScriptTrial&) = delete;
  ScriptTrial& operator=(const ScriptTrial&) = delete;
  /// See traffic::ScriptDecider.
  void send_one_at_a_time() { decider_.send_one_at_a_time(); }
  /// See traffic::ScriptDecider; ask() then throws Interrupted.
  void stop_at(const Interrupt& interrupt, std::chrono::microseconds timeout,
               std::chrono::microseconds patience) {
    decider_.stop_at(interrupt, timeout, patience);
  }
  /// Of all schedules.
  [[nodiscard]] traffic::RepliesSeen replies() const { return decider_.replies(); }
  /// Whether schedules run one at a time; see above.
  [[nodiscard]] bool is_apart() const { return is_apart_; }
  /// From now on tells contents(): what the keys hold and when they expire. Not of schedules that
  /// run one at a time.
  void note_contents() { notes_contents_ = true; }
  [[nodiscard]] std::vector<std::string> contents() const override { return contents_; }
  /// Leaves no keys unless it throws. Throws UsageError if it cannot keep schedules apart.
  [[nodiscard]] std::vector<Answers> ask(std::span<const Schedule> schedules) override;
  /// Runs the schedule again, alone, after removing its keys; true without that if all schedules
  /// run so, or the scope is kNamedKeys. Throws UsageError if the answers differ for kUnderPrefix.
  [[nodiscard]] bool confirms(const Schedule& schedule, const Answers& answers) override;

 private:
  class NamedKeys;

  [[nodiscard]] std::vector<Answers> ask_once(std::span<const Schedule> schedules);
  [[nodiscard]] std::vector<Answers> ask_with_slack(std::span<const Schedule> schedules);
  [[nodiscard]] std::vector<Answers> ask_together(std::span<const Schedule> schedules);
  [[nodiscard]] std::vector<Answers> ask_apart(std::span<const Schedule> schedules);
  [[nodiscard]] bool holds_more_than_named();
  void add_contents();
  void note_others();
  void require_apart(const Schedule& schedule);
  void remove_keys();

  redis::Connection& connection_;
  std::unique_ptr<NamedKeys> script_;
  traffic::ScriptDecider decider_;
  StateScope scope_;
  bool is_apart_ = false;    ///< schedules run one at a time
  bool saw_others_ = false;  ///< there were keys besides the named ones
  bool notes_contents_ = false;
  std::int64_t asked_ = 0, asked_again_ = 0;  ///< requests
  std::set<std::uint32_t> held_up_;           ///< the schedules that were, in ask_with_slack()
  std::vector<std::string> contents_;         ///< of each schedule
  bool is_checked_ = false;                   ///< require_apart() has passed
};

}  // namespace rlctl::adversary
