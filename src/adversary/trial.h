#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adversary/schedule.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "script/script.h"
#include "simulation/engine.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

// Runs schedules against a limiter: an algorithm's model, a script on a server, or anything else
// that can forget what it holds. A random search gives whole schedules to a Trial, each of which
// begins with an empty state. An exhaustive one extends schedules by a request at a time, and gives
// each request to a Branching together with the state that it follows.

namespace rlctl::adversary {

// ---- Limiters ----

/// A limiter that answers any number of requests from the same state.
class Branching {
 public:
  /// What requests have left. Whoever needs a state keeps it.
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;
    /// Equal texts mean that the limiter answers all that follows alike. The text of a state that
    /// cannot be compared is its address.
    virtual std::string identity() const;
  };

  /// Requests from a state; run() sets the answers and what follows them.
  struct Branch {
    std::shared_ptr<State> from = {};  ///< null: before any request
    Schedule requests = {};            ///< not before the requests that led to the state
    bool is_kept = false;              ///< the state after a single request is needed
    Answers answers = {};  ///< empty if they depend on chance; the state is not kept then
    std::shared_ptr<State> state = {};  ///< the one after the request, if it is kept
  };

  virtual ~Branching() = default;
  /// Answers each branch independently of the others. Throws what the limiter throws.
  virtual void run(std::span<Branch> branches) = 0;
  /// The requests that were sent, with those that are sent again to reach a state.
  std::int64_t requests_sent() const { return requests_sent_; }
  /// How many branches are worth giving to one run().
  virtual std::size_t at_once() const { return 1; }

 protected:
  void add_sent(std::int64_t requests) { requests_sent_ += requests; }

 private:
  std::int64_t requests_sent_ = 0;
};

/// A limiter on trial.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Runs each schedule on an empty state, and returns its answers; empty if they depend on chance.
  /// Throws what the limiter throws, and Interrupted if an interrupt ended it.
  virtual std::vector<Answers> run(std::span<const Schedule> schedules) = 0;
  /// Runs the schedule, and returns how long after its last request each key expires, in no
  /// particular order; empty if no key has a TTL, or if the trial knows none.
  virtual std::vector<microseconds> ttls(const Schedule& /*schedule*/) { return {}; }
  /// Runs the schedule, and returns whether a key is left that never expires; false if unknown.
  virtual bool leaves_endless_key(const Schedule& /*schedule*/) { return false; }
  /// Runs a schedule again. Throws UsageError if it does not get these answers.
  virtual void confirm(const Schedule& /*schedule*/, const Answers& /*answers*/) {}
  /// The limiter for an exhaustive search, which must not outlive this: unless it can do better, it
  /// runs each schedule from its beginning.
  virtual std::unique_ptr<Branching> branching();
  /// An exhaustive search has got these answers from branching().
  virtual void note_tried(const Schedule& /*schedule*/, const Answers& /*answers*/) {}
};

// ---- Trials ----

/// A trial of the models in C++.
class ModelTrial final : public Trial {
 public:
  /// Throws UsageError if the algorithm does not support these limits.
  explicit ModelTrial(const script::Candidate& candidate);
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::unique_ptr<Branching> branching() override;

 private:
  script::Candidate candidate_;
};

/// A trial of the model of `concurrency` or of `budget`.
class HolderModelTrial final : public Trial {
 public:
  HolderModelTrial(const limiter::Limit& limit, bool has_leases)
      : limit_(limit), has_leases_(has_leases) {}
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::unique_ptr<Branching> branching() override;

 private:
  limiter::Limit limit_;
  bool has_leases_;
};

/// A trial of a decider that can forget everything: runs schedules one after another, each on an
/// empty state.
class ForgetfulTrial : public Trial {
 public:
  /// The decider must outlive this.
  explicit ForgetfulTrial(simulation::ForgetfulDecider& decider) : decider_(decider) {}
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::vector<microseconds> ttls(const Schedule& schedule) override;
  bool leaves_endless_key(const Schedule& schedule) override;
  /// Runs the schedule again, and the first one of all. Throws UsageError if either has other
  /// answers than before.
  void confirm(const Schedule& schedule, const Answers& answers) override;

 private:
  simulation::ForgetfulDecider& decider_;
  std::optional<std::pair<Schedule, Answers>> first_ = {};  ///< the first schedule that was run
};

/// A trial of a script in the engine.
class EngineTrial final : public ForgetfulTrial {
 public:
  /// The decider must outlive this.
  explicit EngineTrial(simulation::EngineDecider& decider)
      : ForgetfulTrial(decider), decider_(decider) {}
  std::unique_ptr<Branching> branching() override;

 private:
  simulation::EngineDecider& decider_;
};

/// Provides any number of keys, for a Script.
class TrialKeys final : public traffic::Traffic {
 public:
  bool next(traffic::Arrival&) override { return false; }
  std::string_view key_name(std::uint32_t key) const override;
  std::int64_t size() const override { return 0; }

 private:
  mutable std::deque<std::string> names_;
};

/// How exact the TTLs of a candidate's script are on a server under virtual time: answers that
/// change if keys live this much longer or shorter depend on chance. 0 for a bundled script.
microseconds ttl_tolerance_of(const script::Candidate& candidate);

/// A trial of a script on a server that others use. Its time is that of the schedules, for TTLs
/// too: see script::KeyAging. Runs many schedules at a time, each with its own key; a script that
/// is given one key for all of them is an error.
class ScriptTrial final : public Trial {
 public:
  /// Loads the script, whose keys must come from a TrialKeys. The references must outlive this.
  /// `tolerance`: see ttl_tolerance_of(). `keys`: where the script's KEYS stand, for an error.
  ScriptTrial(redis::Connection& connection, script::Script& script,
              microseconds tolerance = microseconds{0}, ValueOrigin keys = ValueOrigin{"keys"});
  ScriptTrial(const ScriptTrial&) = delete;
  ScriptTrial& operator=(const ScriptTrial&) = delete;
  /// What sends the requests of all schedules. If an interrupt ends its decide(), run() throws
  /// Interrupted.
  simulation::ScriptDecider& decider() { return decider_; }
  std::vector<microseconds> ttls(const Schedule& schedule) override;
  /// Leaves no keys unless it throws. Throws UsageError if two schedules have a key in common.
  std::vector<Answers> run(std::span<const Schedule> schedules) override;

 private:
  std::vector<Answers> run_once(std::span<const Schedule> schedules);
  std::vector<Answers> run_with_slack(std::span<const Schedule> schedules);
  std::vector<std::string> known_keys() const;
  std::set<std::uint32_t> schedules_of(const std::set<std::uint32_t>& keys) const;
  void remove_keys();

  redis::Connection& connection_;
  script::Script& script_;
  simulation::ScriptDecider decider_;
  microseconds tolerance_;
  ValueOrigin keys_;
  std::size_t schedules_ = 1;  ///< in the last run_once()
  /// The schedule of the last run_once() that named each key first.
  std::unordered_map<std::string, std::uint32_t> owners_;
  /// Whether two schedules have named the same key.
  bool are_shared_ = false;
  std::int64_t requests_sent_ = 0, requests_resent_ = 0;  ///< for the first time; once more
  std::set<std::uint32_t> stalled_;  ///< the schedules that stalled in the last run_with_slack()
};

}  // namespace rlctl::adversary
