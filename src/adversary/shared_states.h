#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "adversary/branching.h"

namespace rlctl::adversary {

/// Asks a limiter once for each request that may follow each state, however many schedules leave
/// that state: a request that is denied leaves most limiters as they were. This is only right for a
/// limiter whose answers depend on nothing but its state, the time and the cost.
class SharedStates final : public Branching {
 public:
  /// The limiter must outlive this.
  explicit SharedStates(ReplayBranching& limiter) : limiter_(limiter) {}

  void ask(std::span<const Branch> branches, std::span<Outcome> outcomes) override;
  void forget(State state) override { --users_[state]; }
  /// Most branches are known, so that few are left to be asked together.
  [[nodiscard]] std::size_t at_once() const override { return 8 * limiter_.at_once(); }
  [[nodiscard]] std::int64_t asked() const override { return limiter_.asked(); }
  /// The branches of which the limiter was asked.
  [[nodiscard]] std::int64_t questions() const { return questions_; }

 private:
  struct Question {
    State from = kEmpty;
    Request request = {};
    bool operator==(const Question&) const = default;
  };
  struct HashOfQuestion {
    std::size_t operator()(const Question& question) const noexcept;
  };
  struct Known {
    Outcome outcome = {};
    bool is_kept = false;  ///< the state after it is known too, or will be
    enum class Stage { kNew, kQueued, kAnswered } stage = Stage::kNew;
  };
  using Entries = std::unordered_map<Question, Known, HashOfQuestion>;
  using Entry = Entries::value_type;

  void ask_limiter(std::span<Entry* const> queue);
  void keep(Known& known, const Outcome& outcome);
  void drop_unused();

  ReplayBranching& limiter_;
  Entries known_;
  std::unordered_map<std::string, State> states_;  ///< by contents
  std::vector<std::int64_t> users_;                ///< of each state
  std::int64_t questions_ = 0;
};

}  // namespace rlctl::adversary
