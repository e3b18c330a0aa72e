#include "state/seen_keys.h"

#include <doctest/doctest.h>

#include <string>

#include "support/random.h"

namespace state_seen_keys_test {

using rlctl::state::SeenKeys;

TEST_CASE("seen keys are told apart, many of them") {
  SeenKeys seen;
  const auto count = rlctl::test::scaled(20'000, 100'000);
  for (int i = 0; i < count; ++i) REQUIRE(seen.add("key" + std::to_string(i)));
  for (int i = 0; i < count; ++i) REQUIRE_FALSE(seen.add("key" + std::to_string(i)));
  CHECK(seen.add(""));
  CHECK_FALSE(seen.add(""));
}

}  // namespace state_seen_keys_test
