#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/errors/failure.h"
#include "limiter/decision.h"

namespace rlctl::cli::check {

/// A line without a result so far. Short strings keep their memory from line to line.
struct Pending {
  enum class State {
    kAsked,     ///< waiting for replies
    kAskAgain,  ///< the server did not know the script or EVALSHA_RO; nothing was counted
    kExplain,   ///< failed; the reason is determined when no reply is outstanding
    kAnswered,
    kFailed,
  };
  State state = State::kAsked;
  std::size_t line = 0;
  std::size_t bytes = 0;  ///< approximate memory use
  std::string key;
  std::vector<std::string> redis_keys;
  std::int64_t cost = 1;
  std::size_t replies_to_come = 0;
  bool must_ask_again = false;           ///< a reply says so
  bool was_sent = false;                 ///< and may have been counted
  std::vector<limiter::Decision> looks;  ///< --peek: one for each key
  limiter::Decision decision;
  Problem problem;
};

/// A ring buffer of pending lines, which reuses the memory of short lines.
class PendingLines {
 public:
  /// Enough to keep the server busy, few enough that a lost connection leaves few in doubt.
  static constexpr std::size_t kMax = 1000;
  /// A line may be a megabyte long: no lines are added while all together hold more than this.
  static constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
  /// Longer lines free their memory.
  static constexpr std::size_t kShort = std::size_t{1} << 12;

  PendingLines() : ring_(kMax) {}
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == ring_.size() || bytes_ > kMaxBytes; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// The line at `index`, counted from 0 for the oldest.
  [[nodiscard]] Pending& operator[](std::size_t index) {
    return ring_[(first_ + index) % ring_.size()];
  }
  /// `bytes`: approximate memory use of the line.
  Pending& push(std::size_t bytes) {
    Pending& pending = (*this)[count_++];
    pending.bytes = bytes;
    bytes_ += bytes;
    return pending;
  }
  void pop() {
    Pending& pending = ring_[first_];
    bytes_ -= pending.bytes;
    // Replaced by a new object: assigning an empty string would keep the memory.
    if (pending.bytes > kShort) std::exchange(pending, {});
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }

 private:
  std::vector<Pending> ring_;
  std::size_t first_ = 0, count_ = 0;
  std::size_t bytes_ = 0;  ///< of all pending lines
};

}  // namespace rlctl::cli::check
