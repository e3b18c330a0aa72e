#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/problem.h"
#include "limiter/decision.h"

namespace rlctl::cli {

/// A line on its way to its answer. The strings keep their memory from line to line.
struct Pending {
  enum class State {
    kAsked,     ///< its replies are to come
    kAskAgain,  ///< the server did not know the script; nothing was counted
    kExplain,   ///< failed, and why can be told better when no reply is outstanding
    kAnswered,
    kFailed,
  };
  State state = State::kAsked;
  std::size_t line = 0;
  std::string key;
  std::vector<std::string> redis_keys;
  std::int64_t cost = 1;
  std::size_t replies_to_come = 0;
  bool unknown_script = false;           ///< a reply was NOSCRIPT
  std::vector<limiter::Decision> looks;  ///< --peek: of each key
  limiter::Decision decision;
  Problem problem;
};

/// Lines in order: a ring that allocates nothing once it has been round.
class PendingLines {
 public:
  /// Enough to keep the server busy, few enough that a lost connection leaves few in doubt.
  static constexpr std::size_t kMost = 1000;

  PendingLines() : slots_(kMost) {}
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == slots_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// The index-th oldest.
  [[nodiscard]] Pending& operator[](std::size_t index) {
    return slots_[(first_ + index) % slots_.size()];
  }
  Pending& push() { return (*this)[count_++]; }
  void pop() {
    first_ = (first_ + 1) % slots_.size();
    --count_;
  }

 private:
  std::vector<Pending> slots_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace rlctl::cli
