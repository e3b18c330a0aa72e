#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace rlctl::traffic {

using std::chrono::microseconds;

/// The most units that were allowed within any span of one window: what a limit is about, measured
/// on what happened and not on what a limiter says of itself. A span holds what came less than one
/// window after its beginning. Of one key; memory grows with what one window holds.
class WorstWindow {
 public:
  explicit WorstWindow(microseconds window) : window_(window) {}

  /// Times never go back.
  void allow(microseconds at, std::int64_t cost);

  [[nodiscard]] std::int64_t allowed() const noexcept { return most_; }
  /// The first span that held so many: from its first unit, to its last.
  [[nodiscard]] microseconds from() const noexcept { return from_; }
  [[nodiscard]] microseconds span() const noexcept { return span_; }

 private:
  struct Units {
    microseconds at;
    std::int64_t count;
  };
  void forget_before(microseconds at);

  microseconds window_;
  // Oldest first; what counts begins at first_. (A deque has its entries in blocks of 512 bytes,
  // which is much where there are many keys.)
  std::vector<Units> recent_;
  std::size_t first_ = 0;
  std::int64_t in_window_ = 0;
  std::int64_t most_ = 0;
  microseconds from_{0}, span_{0};
};

}  // namespace rlctl::traffic
