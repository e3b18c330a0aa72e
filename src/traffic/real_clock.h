#pragma once

#include <chrono>

#include "base/wait.h"

namespace rlctl::traffic {

/// An instant to the ns, of the steady clock.
using Instant = Clock::time_point;

/// The time of day as the system had it when this was made, and steady from then on: no adjustment
/// of the system's clock moves it.
class RealClock {
 public:
  RealClock()
      : origin_(now()),
        origin_since_1970_(std::chrono::floor<std::chrono::microseconds>(
            std::chrono::system_clock::now().time_since_epoch())) {}

  [[nodiscard]] static Instant now() { return Clock::now(); }
  /// Rounded down.
  [[nodiscard]] std::chrono::microseconds since_1970(Instant instant) const {
    return origin_since_1970_ + std::chrono::floor<std::chrono::microseconds>(instant - origin_);
  }
  [[nodiscard]] Instant at(std::chrono::microseconds since_1970) const {
    return origin_ + (since_1970 - origin_since_1970_);
  }

 private:
  Instant origin_;
  std::chrono::microseconds origin_since_1970_;
};

}  // namespace rlctl::traffic
