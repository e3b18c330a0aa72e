#pragma once

#include <bit>
#include <cstdint>
#include <random>

namespace rlctl::traffic {

/// ln(x) of a normal number above 0. Uses only additions, multiplications and divisions, whose
/// rounding IEEE 754 defines: the logarithms of libraries differ in their last bits.
[[nodiscard]] inline double natural_log(double x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  // x = m * 2^exponent, m from 1/sqrt(2) to sqrt(2).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  auto m = std::bit_cast<double>((bits & kFraction) | kOne);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m /= 2;
    exponent += 1;
  }
  // ln(m) = 2 (s + s^3/3 + s^5/5 ...), s = (m - 1) / (m + 1), at most 0.172.
  const double s = (m - 1) / (m + 1);
  // Two parallel sums, of every other power: each step of a sum waits for the one before.
  const double s2 = s * s;
  const double s4 = s2 * s2;
  double sum = 0, sum_s2 = 0;
  for (int power = 21; power > 0; power -= 4) {
    sum = sum * s4 + 1.0 / power;
    sum_s2 = sum_s2 * s4 + 1.0 / (power + 2);
  }
  return exponent * kLn2 + 2 * s * (sum + s2 * sum_s2);
}

/// Random numbers from a seed, the same on every machine: the distributions of <random> differ.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// At least 0, below 1.
  [[nodiscard]] double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// With a mean of 1: the time between two events of a Poisson process.
  [[nodiscard]] double exponential() { return -natural_log(1 - uniform()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rlctl::traffic
