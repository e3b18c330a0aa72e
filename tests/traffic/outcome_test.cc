#include "traffic/measurement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/random.h"

namespace rlctl::traffic {
std::ostream& operator<<(std::ostream& out, const Timeline::Bin& bin) {
  return out << bin.allowed << " allowed, " << bin.denied << " denied";
}
}  // namespace rlctl::traffic

namespace traffic_outcome_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using rlctl::test::Random;

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

namespace {

constexpr microseconds kBegin{1'700'000'000'000'000};

Timeline::Bin sum(const std::vector<Timeline::Bin>& bins) {
  Timeline::Bin total;
  for (const auto& bin : bins) {
    total.allowed += bin.allowed;
    total.denied += bin.denied;
  }
  return total;
}

}  // namespace

TEST_CASE("a short timeline has a bin for each µs, including empty ones") {
  Timeline timeline;
  timeline.add(kBegin, true);
  timeline.add(kBegin, false);
  timeline.add(kBegin + 3us, false);
  CHECK(timeline.begin() == kBegin);
  CHECK(timeline.end() == kBegin + 3us);
  CHECK(timeline.width() == 1us);
  CHECK(timeline.bins() == std::vector<Timeline::Bin>{{1, 1}, {0, 0}, {0, 0}, {0, 1}});
}

TEST_CASE("if there would be too many bins, neighbours are merged") {
  Timeline timeline;
  constexpr auto kMax = static_cast<std::int64_t>(Timeline::kMax);
  for (std::int64_t us = 0; us < kMax; ++us) timeline.add(kBegin + microseconds{us}, us % 2 == 0);
  CHECK(timeline.bins().size() == Timeline::kMax);
  timeline.add(kBegin + microseconds{kMax}, true);
  CHECK(timeline.width() == 2us);
  REQUIRE(timeline.bins().size() == Timeline::kMax / 2 + 1);
  CHECK(timeline.bins().front() == Timeline::Bin{1, 1});
  CHECK(timeline.bins()[Timeline::kMax / 2 - 1] == Timeline::Bin{1, 1});
  CHECK(timeline.bins().back() == Timeline::Bin{1, 0});
}

TEST_CASE("bins begin at multiples of their width from zero, also before it") {
  for (const auto zero : {kBegin - 7us, kBegin, kBegin + 1'000'003us}) {
    Timeline timeline(zero);
    timeline.add(kBegin, true);
    CHECK(timeline.first() == kBegin);
    timeline.add(kBegin + 10s, true);
    CHECK(timeline.width() == 1ms);
    CHECK((timeline.first() - zero) % timeline.width() == 0us);
    CHECK(timeline.first() <= kBegin);
    CHECK(timeline.first() > kBegin - timeline.width());
    CHECK(timeline.begin() == kBegin);
    CHECK(sum(timeline.bins()) == Timeline::Bin{2, 0});
  }
}

TEST_CASE("every request is in the bin of its time, however long the traffic is") {
  Random random;
  for (int round = 0; round < 20; ++round) {
    Timeline timeline;
    std::vector<std::pair<microseconds, bool>> all;
    auto at = kBegin;
    const auto longest = random.log_uniform(1, 1'000'000'000'000);
    for (int i = 0; i < 2'000; ++i) {
      at += microseconds{random.log_uniform(1, longest) - 1};
      all.emplace_back(at, random.percent(40));
      timeline.add(at, all.back().second);
    }
    const auto width = timeline.width();
    CHECK(timeline.end() == at);
    CHECK(timeline.bins().size() <= Timeline::kMax);
    if (width > 1us) CHECK(timeline.bins().size() >= Timeline::kMax / 6);
    std::vector<Timeline::Bin> expected(timeline.bins().size());
    for (const auto& [when, allowed] : all) {
      auto& bin = expected.at(static_cast<std::size_t>((when - timeline.first()) / width));
      ++(allowed ? bin.allowed : bin.denied);
    }
    CHECK(timeline.bins() == expected);
  }
}

TEST_CASE("columns are half-open: a bin counts in the column in which it begins") {
  Timeline timeline;
  for (int us = 0; us < 10; ++us) timeline.add(kBegin + microseconds{us}, us < 4);
  using Bins = std::vector<Timeline::Bin>;
  CHECK(timeline.columns(kBegin, 2us, 5) == Bins{{2, 0}, {2, 0}, {0, 2}, {0, 2}, {0, 2}});
  CHECK(timeline.columns(kBegin + 3us, 1us, 2) == Bins{{1, 0}, {0, 1}});
  CHECK(timeline.columns(kBegin - 10us, 5us, 2) == Bins{{0, 0}, {0, 0}});
  CHECK(timeline.columns(kBegin - 10us, 10us, 2) == Bins{{0, 0}, {4, 6}});
  CHECK(timeline.columns(kBegin, 1us, 0).empty());
}

TEST_CASE("a timeline without requests is empty") {
  const Timeline timeline;
  CHECK(timeline.bins().empty());
  CHECK(timeline.columns(0us, 10us, 3) == std::vector<Timeline::Bin>(3));
}

TEST_CASE("a timeline may begin before its first request") {
  Timeline timeline;
  timeline.begin_at(100us);
  timeline.add(108us, true);
  timeline.add(103us, true);
  CHECK(timeline.begin() == 100us);
  REQUIRE(timeline.bins().size() == 9);
  CHECK(timeline.bins()[3].allowed == 1);
}

TEST_CASE("a request earlier than the latest goes into its own bin") {
  Timeline timeline;
  timeline.add(100us, true);
  timeline.add(108us, true);
  timeline.add(103us, false);
  CHECK(timeline.begin() == 100us);
  CHECK(timeline.end() == 108us);
  REQUIRE(timeline.bins().size() == 9);
  CHECK(timeline.bins()[3].denied == 1);
}

TEST_CASE("each unit is counted") {
  Timeline timeline;
  timeline.add(kBegin, true, 5);
  timeline.add(kBegin, false, 2);
  timeline.add(kBegin + 1s, true);
  CHECK(sum(timeline.bins()) == Timeline::Bin{6, 2});
}

namespace {

/// `count` durations, the longest `beyond` of which have another length.
Histogram durations(int count, nanoseconds usual, int beyond = 0, nanoseconds longer = 0ns) {
  Histogram histogram;
  for (int i = 0; i < count; ++i) histogram.add(i < beyond ? longer : usual);
  return histogram;
}

/// The timing of a run that kept to its schedule.
Timing timing(Histogram service, Histogram lag) {
  return {.service = std::move(service),
          .lag = std::move(lag),
          .offered_per_second = 1000,
          .sent_per_second = 1000,
          .achieved_per_second = 1000};
}

}  // namespace

TEST_CASE("a run is valid if the lag's p99 is at most a tenth of the service time's") {
  CHECK(timing(durations(1000, 1000ns), durations(1000, 100ns)).is_valid());
  CHECK_FALSE(timing(durations(1000, 1000ns), durations(1000, 101ns)).is_valid());
}

TEST_CASE("only the p99 makes a run invalid, not what is beyond it") {
  const auto service = durations(1000, 1000ns);
  CHECK(timing(service, durations(1000, 1ns, 10, 1s)).is_valid());
  CHECK_FALSE(timing(service, durations(1000, 1ns, 11, 1s)).is_valid());
}

TEST_CASE("with too few durations for a percentile, the maxima are compared") {
  CHECK(timing(durations(999, 1000ns), durations(999, 1ns, 1, 100ns)).is_valid());
  CHECK_FALSE(timing(durations(999, 1000ns), durations(999, 1ns, 1, 101ns)).is_valid());
  // Also if only one of the two has enough.
  CHECK_FALSE(timing(durations(999, 1000ns), durations(1000, 1ns, 1, 101ns)).is_valid());
  CHECK(timing(durations(1, 1000ns), durations(1, 100ns)).is_valid());
}

TEST_CASE("a run is valid if 99 % of the offered rate was sent, whatever was answered") {
  auto run = timing(durations(1000, 1s), durations(1000, 1ns));
  run.sent_per_second = 990;
  run.achieved_per_second = 500;
  CHECK(run.is_valid());
  run.sent_per_second = 989.9;
  run.achieved_per_second = 1000;
  CHECK_FALSE(run.is_valid());
}

TEST_CASE("a run without a schedule is valid, and so is one that sent nothing") {
  CHECK(Timing{.service = durations(1000, 1s), .achieved_per_second = 10}.is_valid());
  CHECK(Timing{}.is_valid());
}

}  // namespace traffic_outcome_test
