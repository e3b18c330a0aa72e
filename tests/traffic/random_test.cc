#include "traffic/pattern.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "support/random.h"

namespace rlctl::traffic::random_test {

TEST_CASE("the logarithm is accurate to the last few bits") {
  test::Random random;
  const auto check = [](double x) {
    CAPTURE(x);
    CHECK(std::abs(natural_log(x) - std::log(x)) <= 0x1p-51 * std::max(1.0, std::abs(std::log(x))));
  };
  for (const double x : {1.0, 0x1p-53, 1 - 0x1p-53, 0.5, 0.75, std::sqrt(0.5), 2.0, 1e300})
    check(x);
  for (int i = 0; i < 100'000; ++i) {
    check(static_cast<double>(random.log_uniform(1, std::int64_t{1} << 53)) * 0x1p-53);
  }
  CHECK(natural_log(1) == 0);
}

TEST_CASE("a seed yields the same numbers on every machine") {
  Random random(1);
  CHECK(random.uniform() == 0x1.122deafddb434p-3);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += random.exponential();
  CHECK(sum == 0x1.ff3e20ce211cbp+9);
}

}  // namespace rlctl::traffic::random_test
