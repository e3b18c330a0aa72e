#include "traffic/outcome.h"

#include <doctest/doctest.h>

namespace traffic_timing_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;

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

}  // namespace traffic_timing_test
