#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace rlctl::test {

/// Seeded from $RLCTL_TEST_SEED, or else by the system; the seed is printed, so that a failure can
/// be reproduced. The same seed gives the same numbers with every standard library.
class Random {
 public:
  Random();
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// From `least` to `most`, inclusive.
  std::int64_t uniform(std::int64_t least, std::int64_t most);
  /// The same, with every order of magnitude equally likely.
  std::int64_t log_uniform(std::int64_t least, std::int64_t most);
  /// True in `share` percent of cases.
  bool percent(int share) { return uniform(1, 100) <= share; }
  template <typename List>
  const auto& one_of(const List& list) {
    return *(std::begin(list) + uniform(0, static_cast<std::int64_t>(std::size(list)) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

/// $RLCTL_TEST_OPERATIONS if that is more.
std::int64_t operations(std::int64_t at_least);

/// `few`, or `all` if $RLCTL_TEST_ALL is set, as tests/night/run does: how much of something a test
/// does. Under a sanitizer, a quarter of `few`.
std::int64_t scaled(std::int64_t few, std::int64_t all);

/// Whether to try the `number`th of many cases, of which `percent` % are tried. Which ones differs
/// from commit to commit, by $RLCTL_TEST_OFFSET.
bool is_tried(std::size_t number, std::int64_t percent);

}  // namespace rlctl::test
