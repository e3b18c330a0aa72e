#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

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
  [[nodiscard]] std::int64_t counted(microseconds at, microseconds late = microseconds{0}) const {
    return total() - gone(at - window_ - late);
  }
  /// The time of the oldest unit that counts at `at`; `at` if there is none.
  [[nodiscard]] microseconds oldest(microseconds at) const {
    const auto first = std::upper_bound(units_.begin(), units_.end(), gone(at - window_));
    return first == units_.end() ? at : times_[static_cast<std::size_t>(first - units_.begin())];
  }

 private:
  [[nodiscard]] std::int64_t total() const { return units_.empty() ? 0 : units_.back(); }
  /// The units that were given back or are not newer than this.
  [[nodiscard]] std::int64_t gone(microseconds until) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), until) - times_.begin();
    const auto left = after == 0 ? 0 : units_[static_cast<std::size_t>(after) - 1];
    return std::max(refunded_, left);
  }

  microseconds window_;
  std::vector<microseconds> times_;
  std::vector<std::int64_t> units_;  ///< up to and including each time
  std::int64_t refunded_ = 0;        ///< this many from the beginning are gone
};

}  // namespace rlctl::adversary
