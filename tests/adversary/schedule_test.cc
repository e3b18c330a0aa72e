#include "adversary/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace adversary_schedule_test {

using namespace std::chrono_literals;
using namespace rlctl::adversary;
using rlctl::limiter::Limit;

namespace {

const Limit kTwo{2, 10s, {}};

/// The most allowed within a window, by comparing every pair.
std::int64_t slow_worst(const Schedule& times, const Answers& answers, microseconds window) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::int64_t count = 0;
    for (std::size_t j = i; j < times.size(); ++j) {
      if (answers[i].allowed && answers[j].allowed && times[j] - times[i] < window) ++count;
    }
    most = std::max(most, count);
  }
  return most;
}

}  // namespace

TEST_CASE("consecutive requests at the same time are one instant") {
  const auto instants = instants_of({1s, 1s, 2s, 1s});
  REQUIRE(instants.size() == 3);
  CHECK(instants[0].count == 2);
  CHECK(instants[1].at == 2s);
  CHECK(instants[2].first == 3);
  CHECK(instants_of({}).empty());
}

TEST_CASE("the clock steps back if a time is before the previous one") {
  CHECK_FALSE(steps_back({}));
  CHECK_FALSE(steps_back({1s, 1s, 2s}));
  CHECK(steps_back({1s, 2s, 1s}));
}

TEST_CASE("the most allowed within a window equals that from comparing every pair") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Schedule schedule;
    Answers answers;
    microseconds at{0};
    for (int i = 0; i < 30; ++i) {
      schedule.push_back(at += microseconds{random() % 4} * 1'000'000);
      answers.push_back({.allowed = random() % 2 == 0});
    }
    REQUIRE(score_of(schedule, answers, kTwo, 1).worst == slow_worst(schedule, answers, 10s));
  }
}

TEST_CASE("a denial is wrong if an exact log of what was allowed has room") {
  const Answer allowed{.allowed = true}, denied{};
  // Two count; at 10 s the first one has left.
  CHECK(score_of({0s, 1s, 9s}, {allowed, allowed, denied}, kTwo, 1).wrongly_denied.empty());
  CHECK(score_of({0s, 1s, 10s}, {allowed, allowed, denied}, kTwo, 1).wrongly_denied ==
        std::vector<std::size_t>{2});
  // A cost of 2 fills the limit, and a cost of 3 never fits.
  CHECK(score_of({0s, 9s}, {allowed, denied}, kTwo, 2).wrongly_denied.empty());
  CHECK(score_of({0s}, {denied}, kTwo, 3).wrongly_denied.empty());
  // With a clock that stepped back the first one still counts.
  CHECK(score_of({0s, 0s, 10s, 5s}, {allowed, allowed, allowed, denied}, kTwo, 1)
            .wrongly_denied.empty());
}

TEST_CASE("when the clock steps back, time stands still") {
  const Answer allowed{.allowed = true};
  CHECK(score_of({20s, 0s, 20s}, {allowed, allowed, allowed}, kTwo, 1).worst == 3);
}

TEST_CASE("a delayed request counts at the time when it may proceed") {
  const Answers answers{{.allowed = true}, {.allowed = true, .delay = 10s}};
  CHECK(score_of({0s, 0s}, answers, kTwo, 1).worst == 1);
}

}  // namespace adversary_schedule_test
