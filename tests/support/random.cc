#include "support/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace rlctl::test {
namespace {

std::uint64_t choose_seed() {
  const char* given = std::getenv("RLCTL_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  MESSAGE("RLCTL_TEST_SEED=" << seed);
  return seed;
}

/// A quarter of a number that is not small, if AddressSanitizer is on: each operation takes many
/// times as long then, and a memory error shows within the first few repetitions.
std::int64_t lightened(std::int64_t few) {
#ifdef RLCTL_UNDER_ASAN
  return few >= 40 ? few / 4 : few;
#else
  return few;
#endif
}

}  // namespace

Random::Random() : engine_(choose_seed()) {}

std::int64_t Random::uniform(std::int64_t least, std::int64_t most) {
  const auto span = static_cast<std::uint64_t>(most - least) + 1;
  return least + static_cast<std::int64_t>(engine_() % span);
}

std::int64_t Random::log_uniform(std::int64_t least, std::int64_t most) {
  std::int64_t low = least;
  std::int64_t high = most;
  // A random magnitude, then a number of that magnitude: all in integers, and the same everywhere.
  std::int64_t magnitudes = 1;
  for (std::int64_t edge = least; edge <= most / 4; edge *= 4) ++magnitudes;
  for (auto skip = uniform(0, magnitudes - 1); skip > 0; --skip) low *= 4;
  high = std::min(most, low <= most / 4 ? low * 4 : most);
  return uniform(low, high);
}

std::int64_t operations(std::int64_t at_least) {
  const char* given = std::getenv("RLCTL_TEST_OPERATIONS");
  return given == nullptr ? at_least : std::max<std::int64_t>(at_least, std::atoll(given));
}

std::int64_t scaled(std::int64_t few, std::int64_t all) {
  const char* given = std::getenv("RLCTL_TEST_ALL");
  if (given != nullptr && *given != '\0') return all;
  return few <= all ? lightened(few) : few;
}

bool is_tried(std::size_t number, std::int64_t percent) {
  const char* offset = std::getenv("RLCTL_TEST_OFFSET");
  const auto shifted = number * 37 + (offset == nullptr ? 0 : std::stoul(offset));
  return static_cast<std::int64_t>(shifted % 100) < percent;
}

}  // namespace rlctl::test
