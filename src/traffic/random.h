#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace rlctl::traffic {

/// Numbers from a seed, the same with every standard library: the distributions of <random> differ.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// At least 0, below 1.
  [[nodiscard]] double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// With a mean of 1: the time between two events of a Poisson process.
  [[nodiscard]] double exponential() { return -std::log1p(-uniform()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rlctl::traffic
