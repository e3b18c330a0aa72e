#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adversary/schedule.h"
#include "base/wait.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "traffic/script.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

namespace rlctl::adversary {

/// What an exact log holds: the units that were allowed and not given back.
class ExactLog {
 public:
  using microseconds = std::chrono::microseconds;

  explicit ExactLog(microseconds window) : window_(window) {}

  /// A request that was allowed; below 0, a refund of the oldest units. Times must not go back.
  void add(microseconds at, std::int64_t cost) {
    if (cost < 0) {
      refunded_ = std::min(total(), gone(at - window_) - cost);
    } else {
      times_.push_back(at);
      units_.push_back(total() + cost);
    }
  }
  /// The units that count at `at` if each leaves `late` after one window.
  std::int64_t counted(microseconds at, microseconds late = microseconds{0}) const {
    return total() - gone(at - window_ - late);
  }
  /// The time of the oldest unit that counts at `at`; `at` if there is none.
  microseconds oldest(microseconds at) const {
    const auto first = std::upper_bound(units_.begin(), units_.end(), gone(at - window_));
    return first == units_.end() ? at : times_[static_cast<std::size_t>(first - units_.begin())];
  }

 private:
  std::int64_t total() const { return units_.empty() ? 0 : units_.back(); }
  /// The units that were given back or are not newer than this.
  std::int64_t gone(microseconds until) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), until) - times_.begin();
    const auto left = after == 0 ? 0 : units_[static_cast<std::size_t>(after) - 1];
    return std::max(refunded_, left);
  }

  microseconds window_;
  std::vector<microseconds> times_;
  std::vector<std::int64_t> units_;  ///< up to and including each time
  std::int64_t refunded_ = 0;        ///< this many from the beginning are gone
};

/// A limiter on trial.
class Trial {
 public:
  virtual ~Trial() = default;
  /// Runs each schedule on an empty state, and returns its answers: none if they depend on chance.
  /// Throws what the limiter throws, and Interrupted if an interrupt ended it.
  virtual std::vector<Answers> run(std::span<const Schedule> schedules) = 0;
  /// What the limiter holds after each schedule of the last run(). If two are equal, it answers
  /// every request that follows alike. Empty if unknown.
  virtual std::vector<std::string> contents() const { return {}; }
  /// Whether a schedule really has these answers. If not, the trial is more careful from now on,
  /// and the caller must repeat the search.
  virtual bool confirms(const Schedule& /*schedule*/, const Answers& /*answers*/) { return true; }
};

Answer answer_of(const limiter::Decision& decision);

/// A trial of the models in C++.
class ModelTrial final : public Trial {
 public:
  /// Throws UsageError if the algorithm does not support these limits.
  explicit ModelTrial(const traffic::Candidate& candidate);
  std::vector<Answers> run(std::span<const Schedule> schedules) override;

 private:
  Answers answers_to(const Schedule& schedule) const;

  traffic::Candidate candidate_;
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

/// Where a script may keep its state, which must not pass from one schedule to the next.
struct StateScope {
  /// Anywhere on this server, which is emptied between schedules. Null: only in the keys that the
  /// requests name, which must differ between schedules.
  redis::PrivateServer* server = nullptr;
  /// The precision of TTLs: answers that change if keys live this much longer or shorter depend on
  /// chance.
  microseconds ttl_tolerance{0};
};

/// A trial of a script on a server. Its time is that of the schedules, for TTLs too: see
/// traffic::KeyAging.
///
/// Runs many schedules at a time, each with its own key. Once a script turns out to keep state
/// elsewhere, in keys that it makes up or in one that all requests name, runs them one at a time,
/// each on an empty server. If the server is not ours to empty, that is an error.
class ScriptTrial final : public Trial {
 public:
  /// Loads the script, whose keys must come from a TrialKeys. The references must outlive this.
  ScriptTrial(redis::Connection& connection, traffic::Script& script, StateScope scope = {});
  ~ScriptTrial() override;
  ScriptTrial(const ScriptTrial&) = delete;
  ScriptTrial& operator=(const ScriptTrial&) = delete;
  /// See traffic::ScriptDecider.
  void send_one_at_a_time() { decider_.send_one_at_a_time(); }
  /// See traffic::ScriptDecider; run() then throws Interrupted.
  void stop_at(const Interrupt& interrupt, std::chrono::microseconds timeout,
               std::chrono::microseconds patience) {
    decider_.stop_at(interrupt, timeout, patience);
  }
  /// Of all schedules.
  traffic::RepliesSeen replies() const { return decider_.replies(); }
  /// Whether schedules run one at a time; see above.
  bool is_apart() const { return is_apart_; }
  /// From now on tells contents(): what the keys hold and when they expire. Not of schedules that
  /// run one at a time.
  void note_contents() { notes_contents_ = true; }
  std::vector<std::string> contents() const override { return contents_; }
  /// Leaves no keys unless it throws. Throws UsageError if it cannot keep schedules apart.
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  /// Runs the schedule again, alone on an empty server; true without that if all schedules run so,
  /// or only named keys may hold state.
  bool confirms(const Schedule& schedule, const Answers& answers) override;

 private:
  class NamedKeys;

  std::vector<Answers> ask_once(std::span<const Schedule> schedules);
  std::vector<Answers> run_with_slack(std::span<const Schedule> schedules);
  std::vector<Answers> ask_together(std::span<const Schedule> schedules);
  std::vector<Answers> ask_apart(std::span<const Schedule> schedules);
  bool holds_more_than_named();
  void add_contents();
  void note_others();
  void remove_keys();

  redis::Connection& connection_;
  std::unique_ptr<NamedKeys> script_;
  traffic::ScriptDecider decider_;
  StateScope scope_;
  bool is_apart_ = false;    ///< schedules run one at a time
  bool saw_others_ = false;  ///< there were keys besides the named ones
  bool notes_contents_ = false;
  std::int64_t requests_sent_ = 0, asked_again_ = 0;  ///< requests
  std::set<std::uint32_t> stalled_;    ///< the schedules that were, in run_with_slack()
  std::vector<std::string> contents_;  ///< of each schedule
};

/// A limiter that answers any number of requests from the same state.
class Branching {
 public:
  /// The number of a state. Numbers of forgotten states are used again.
  using State = std::uint32_t;
  /// Before any request.
  static constexpr State kEmpty = 0;

  /// A request from a state; run() sets the answer and what follows it.
  struct Branch {
    State from = kEmpty;
    Request request = {};  ///< not before the requests that led to the state
    bool is_kept = false;  ///< the state after it is needed
    Answer answer = {};
    State state = kEmpty;    ///< after the request, if it is kept
    bool is_chance = false;  ///< the answer depends on chance; the state is not kept
  };

  virtual ~Branching() = default;
  /// Answers each branch independently of the others. Throws what the limiter throws.
  virtual void run(std::span<Branch> branches) = 0;
  virtual void forget(State state) = 0;
  /// The requests that were sent, with those that are sent again to reach a state.
  virtual std::int64_t requests_sent() const = 0;
  /// How many branches are worth asking together.
  virtual std::size_t at_once() const = 0;
};

/// Numbers for states, from 1.
class StateNumbers {
 public:
  Branching::State take();
  void give_back(Branching::State state) { free_.push_back(state); }
  /// More than any number taken so far.
  std::size_t end() const { return next_; }

 private:
  Branching::State next_ = Branching::kEmpty + 1;
  std::vector<Branching::State> free_;
};

/// The model of an algorithm in C++.
class ModelBranching final : public Branching {
 public:
  /// Throws UsageError if the algorithm does not support the limit. Uses the first limit only.
  explicit ModelBranching(const traffic::Candidate& candidate);
  void run(std::span<Branch> branches) override;
  void forget(State state) override { numbers_.give_back(state); }
  std::int64_t requests_sent() const override { return requests_sent_; }
  std::size_t at_once() const override { return 1; }

 private:
  limiter::Limit limit_;
  std::int64_t requests_sent_ = 0;
  StateNumbers numbers_;
  std::vector<std::unique_ptr<limiter::KeyModel>> models_;  ///< by state
};

/// Any limiter on trial: replays each schedule from its beginning.
class ReplayBranching final : public Branching {
 public:
  explicit ReplayBranching(Trial& trial) : trial_(trial), schedules_(1) {}
  void run(std::span<Branch> branches) override;
  void forget(State state) override { numbers_.give_back(state); }
  /// For two states with equal contents: the first is from now on reached by the schedule that ends
  /// earlier, so that it may be followed by whatever may follow the other.
  void keep_earlier(State state, State other) {
    auto& own = schedules_[state];
    if (schedules_[other].back().at < own.back().at) own = schedules_[other];
  }
  /// Equal for states after which every request is answered alike, as far as the trial tells.
  const std::string& contents_of(State state) const { return contents_[state]; }
  std::int64_t requests_sent() const override { return requests_sent_; }
  std::size_t at_once() const override { return 512; }

 private:
  Trial& trial_;
  std::int64_t requests_sent_ = 0;
  StateNumbers numbers_;
  std::vector<Schedule> schedules_;    ///< by state
  std::vector<std::string> contents_;  ///< by state
};

/// Asks a limiter once for each request that may follow each state, however many schedules leave
/// that state: a request that is denied leaves most limiters as they were. This is only right for a
/// limiter whose answers depend on nothing but its state, the time and the cost.
class SharedStates final : public Branching {
 public:
  /// The limiter must outlive this.
  explicit SharedStates(ReplayBranching& limiter) : limiter_(limiter) {}

  void run(std::span<Branch> branches) override;
  void forget(State state) override { --users_[state]; }
  /// Most branches are known, so that few are left to be asked together.
  std::size_t at_once() const override { return 8 * limiter_.at_once(); }
  std::int64_t requests_sent() const override { return limiter_.requests_sent(); }
  /// The branches of which the limiter was asked.
  std::int64_t questions() const { return questions_; }

 private:
  using Question = std::pair<State, Request>;
  struct HashOfQuestion {
    std::size_t operator()(const Question& question) const noexcept;
  };
  struct Known {
    Branch branch = {};
    enum class Stage { kNew, kQueued, kAnswered } stage = Stage::kNew;
  };

  void ask_limiter(std::span<Known* const> queue);
  void keep(Known& known, const Branch& answered);
  void drop_unused();

  ReplayBranching& limiter_;
  std::unordered_map<Question, Known, HashOfQuestion> known_;
  std::unordered_map<std::string, State> states_;  ///< the key is what the limiter stores
  std::vector<std::int64_t> users_;                ///< how many branches use a state, by its number
  std::int64_t questions_ = 0;
};

}  // namespace rlctl::adversary
