#include "traffic/traffic.h"

#include <doctest/doctest.h>

#include "traffic/pattern.h"

namespace rlctl::traffic::shifted_test {

using namespace std::chrono_literals;

TEST_CASE("shifted traffic differs only in its times, which keep their distances") {
  const PatternRequest request{.limit = {10, 1s, {}}, .requests = 50, .keys = 3, .cost = 2};
  const auto make = [&] { return make_traffic(*find_pattern("poisson"), request); };
  const auto plain = make();
  Arrival first;
  REQUIRE(make()->next(first));
  ShiftedTraffic shifted(make(), first.at, 2'000'000s);
  CHECK(shifted.size() == plain->size());
  CHECK(shifted.key_name(2) == plain->key_name(2));
  Arrival expected, came;
  int count = 0;
  while (plain->next(expected)) {
    REQUIRE(shifted.next(came));
    expected.at += 2'000'000s - first.at;
    CHECK(came == expected);
    ++count;
  }
  CHECK_FALSE(shifted.next(came));
  CHECK(count == 50);
}

}  // namespace rlctl::traffic::shifted_test
