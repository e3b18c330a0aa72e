#pragma once

#include <cstdint>
#include <random>

namespace rlctl::test {

/// Seeded by $RLCTL_TEST_SEED, else by the system; the seed is printed, so that a failure can be
/// had again. The same seed gives the same numbers with every standard library.
class Random {
 public:
  Random();
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// From `least` to `most`, both included.
  [[nodiscard]] std::int64_t uniform(std::int64_t least, std::int64_t most);
  /// The same, every order of magnitude as often as the next.
  [[nodiscard]] std::int64_t log_uniform(std::int64_t least, std::int64_t most);
  /// True in so many of a hundred cases.
  [[nodiscard]] bool percent(int share) { return uniform(1, 100) <= share; }
  template <typename List>
  [[nodiscard]] const auto& one_of(const List& list) {
    return *(std::begin(list) + uniform(0, static_cast<std::int64_t>(std::size(list)) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

/// $RLCTL_TEST_OPERATIONS where that is more.
[[nodiscard]] std::int64_t operations(std::int64_t at_least);

}  // namespace rlctl::test
