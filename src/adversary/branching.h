#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "traffic/script.h"

namespace rlctl::adversary {

/// A limiter that answers any number of requests from the same state.
class Branching {
 public:
  /// The number of a state. Numbers of forgotten states are used again.
  using State = std::uint32_t;
  /// Before any request.
  static constexpr State kEmpty = 0;

  /// A request from a state; ask() sets the answer and what follows it.
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
  virtual void ask(std::span<Branch> branches) = 0;
  virtual void forget(State state) = 0;
  /// The requests that were sent, with those that are sent again to reach a state.
  [[nodiscard]] virtual std::int64_t asked() const = 0;
  /// How many branches are worth asking together.
  [[nodiscard]] virtual std::size_t at_once() const = 0;
};

/// Numbers for states, from 1.
class StateNumbers {
 public:
  [[nodiscard]] Branching::State take();
  void give_back(Branching::State state) { free_.push_back(state); }
  /// More than any number taken so far.
  [[nodiscard]] std::size_t end() const { return next_; }

 private:
  Branching::State next_ = Branching::kEmpty + 1;
  std::vector<Branching::State> free_;
};

/// The model of an algorithm in C++.
class ModelBranching final : public Branching {
 public:
  /// Throws UsageError if the algorithm does not support the limit. Uses the first limit only.
  explicit ModelBranching(const traffic::Candidate& candidate);
  void ask(std::span<Branch> branches) override;
  void forget(State state) override { numbers_.give_back(state); }
  [[nodiscard]] std::int64_t asked() const override { return asked_; }
  [[nodiscard]] std::size_t at_once() const override { return 1; }

 private:
  limiter::Limit limit_;
  std::int64_t asked_ = 0;
  StateNumbers numbers_;
  std::vector<std::unique_ptr<limiter::KeyModel>> models_;  ///< by state
};

/// Any limiter on trial: replays each schedule from its beginning.
class ReplayBranching final : public Branching {
 public:
  explicit ReplayBranching(Trial& trial) : trial_(trial), schedules_(1) {}
  void ask(std::span<Branch> branches) override;
  void forget(State state) override { numbers_.give_back(state); }
  /// For two states with equal contents: the first is from now on reached by the schedule that ends
  /// earlier, so that it may be followed by whatever may follow the other.
  void keep_earlier(State state, State other) {
    auto& own = schedules_[state];
    if (schedules_[other].back().at < own.back().at) own = schedules_[other];
  }
  /// Equal for states after which every request is answered alike, as far as the trial tells.
  [[nodiscard]] const std::string& contents_of(State state) const { return contents_[state]; }
  [[nodiscard]] std::int64_t asked() const override { return asked_; }
  [[nodiscard]] std::size_t at_once() const override { return 512; }

 private:
  Trial& trial_;
  std::int64_t asked_ = 0;
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

  void ask(std::span<Branch> branches) override;
  void forget(State state) override { --users_[state]; }
  /// Most branches are known, so that few are left to be asked together.
  [[nodiscard]] std::size_t at_once() const override { return 8 * limiter_.at_once(); }
  [[nodiscard]] std::int64_t asked() const override { return limiter_.asked(); }
  /// The branches of which the limiter was asked.
  [[nodiscard]] std::int64_t questions() const { return questions_; }

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
