#include "traffic/outcome.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/random.h"

namespace traffic_histogram_test {

using namespace std::chrono_literals;
using rlctl::test::Random;
using rlctl::traffic::Histogram;
using rlctl::traffic::nanoseconds;

namespace {

constexpr std::int64_t kHourNs = nanoseconds{1h}.count();

Histogram histogram_of(const std::vector<std::int64_t>& durations_ns) {
  Histogram histogram;
  for (const auto ns : durations_ns) histogram.add(nanoseconds{ns});
  return histogram;
}

std::vector<std::int64_t> random_durations(Random& random, std::int64_t count) {
  std::vector<std::int64_t> durations;
  for (std::int64_t i = 0; i < count; ++i) durations.push_back(random.log_uniform(1, kHourNs));
  return durations;
}

/// 1, 2, 3 ns and so on: each in a bucket of its own.
Histogram first_numbers(std::int64_t count) {
  Histogram histogram;
  for (std::int64_t ns = 1; ns <= count; ++ns) histogram.add(nanoseconds{ns});
  return histogram;
}

}  // namespace

TEST_CASE("percentiles equal those of the sorted durations, or exceed them by 1/1024 at most") {
  Random random;
  for (int round = 0; round < 20; ++round) {
    auto durations = random_durations(random, random.log_uniform(20, 30'000));
    const auto histogram = histogram_of(durations);
    std::sort(durations.begin(), durations.end());
    const auto size = static_cast<std::int64_t>(durations.size());
    CAPTURE(size);
    for (const std::int64_t thousandths : {1, 1000, 25'000, 50'000, 75'000, 95'000, 99'000}) {
      CAPTURE(thousandths);
      const auto rank = (size * thousandths + 99'999) / 100'000;  // from 1
      const auto found = histogram.percentile(static_cast<double>(thousandths) / 1000);
      REQUIRE(found.has_value() == (size - rank >= 10));
      if (!found) continue;
      const auto exact = durations[static_cast<std::size_t>(rank - 1)];
      CHECK(found->count() >= exact);
      CHECK((found->count() - exact) * 1024 <= exact);
    }
  }
}

TEST_CASE("every magnitude has buckets, and no duration falls outside its own") {
  for (std::int64_t power = 1; power < kHourNs; power *= 2) {
    for (const auto ns : {power - 1, power, power + 1, power + power / 2}) {
      CAPTURE(ns);
      Histogram histogram;
      for (int i = 0; i < 11; ++i) histogram.add(nanoseconds{ns});
      histogram.add(1h);
      const auto found = histogram.percentile(1);
      REQUIRE(found);
      CHECK(found->count() >= ns);
      CHECK((found->count() - ns) * 1024 <= ns);
    }
  }
}

TEST_CASE("minimum, maximum, mean and deviation are exact") {
  Random random;
  const auto durations = random_durations(random, 5000);
  const auto histogram = histogram_of(durations);
  CHECK(histogram.count() == 5000);
  CHECK(histogram.min().count() == *std::min_element(durations.begin(), durations.end()));
  CHECK(histogram.max().count() == *std::max_element(durations.begin(), durations.end()));
  long double sum = 0, squares = 0;
  for (const auto ns : durations) sum += static_cast<long double>(ns);
  const auto mean = sum / 5000;
  for (const auto ns : durations) {
    squares += (static_cast<long double>(ns) - mean) * (static_cast<long double>(ns) - mean);
  }
  CHECK(histogram.mean_ns() == doctest::Approx(static_cast<double>(mean)).epsilon(1e-12));
  CHECK(histogram.stdev_ns() ==
        doctest::Approx(static_cast<double>(std::sqrt(squares / 5000))).epsilon(1e-9));
}

TEST_CASE("the deviation of long, almost equal durations does not lose its precision") {
  CHECK(histogram_of({kHourNs, kHourNs - 2}).stdev_ns() == 1);
  CHECK(histogram_of({kHourNs - 1, kHourNs - 1, kHourNs - 1}).stdev_ns() == 0);
}

TEST_CASE("a percentile's rank is rounded up, however its number is written") {
  CHECK(first_numbers(100).percentile(50) == 50ns);
  CHECK(first_numbers(101).percentile(50) == 51ns);
  CHECK(first_numbers(1000).percentile(99) == 990ns);
  CHECK(first_numbers(1000).percentile(0.1) == 1ns);
  CHECK(first_numbers(1000).percentile(0.101) == 2ns);
  // Exactly 9,990 of 10,000: in doubles it would be slightly more.
  std::vector<std::int64_t> durations(9990, 7);
  durations.insert(durations.end(), 10, 9);
  CHECK(histogram_of(durations).percentile(99.9) == 7ns);
}

TEST_CASE("a percentile with fewer than ten durations beyond it is not reported") {
  CHECK(first_numbers(20).percentile(50) == 10ns);
  CHECK_FALSE(first_numbers(19).percentile(50));
  CHECK(first_numbers(1000).percentile(99));
  CHECK_FALSE(first_numbers(999).percentile(99));
  CHECK(first_numbers(10'000).percentile(99.9));
  CHECK_FALSE(first_numbers(9999).percentile(99.9));
}

TEST_CASE("an empty histogram has no percentiles and zero for everything else") {
  const Histogram none;
  CHECK(none.count() == 0);
  CHECK(none.min() == 0ns);
  CHECK(none.max() == 0ns);
  CHECK(none.mean_ns() == 0);
  CHECK(none.stdev_ns() == 0);
  CHECK_FALSE(none.percentile(50));
}

TEST_CASE("an out-of-range duration counts as the nearest one in range") {
  Histogram histogram;
  histogram.add(-5ns);
  CHECK(histogram.max() == 0ns);
  histogram.add(25h);
  CHECK(histogram.min() == 0ns);
  CHECK(histogram.max() == 1h);
  CHECK(histogram.mean_ns() == static_cast<double>(kHourNs) / 2);
}

}  // namespace traffic_histogram_test
