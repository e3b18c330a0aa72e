#include "adversary/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

namespace adversary_schedule_test {

using namespace std::chrono_literals;
using namespace rlctl::adversary;
using rlctl::limiter::Limit;

namespace {

const Limit kTwo{2, 10s, {}};

/// A request at each of these times.
Schedule at(std::initializer_list<microseconds> times, std::int64_t cost = 1) {
  Schedule schedule;
  for (const auto time : times) schedule.push_back({time, cost});
  return schedule;
}

/// The most allowed within a window, by comparing every pair.
std::int64_t slow_worst(const Schedule& times, const Answers& answers, microseconds window) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::int64_t count = 0;
    for (std::size_t j = i; j < times.size(); ++j) {
      if (answers[i].allowed && answers[j].allowed && times[j].at - times[i].at < window) ++count;
    }
    most = std::max(most, count);
  }
  return most;
}

}  // namespace

TEST_CASE("consecutive requests at the same time are one instant") {
  const auto instants = instants_of(at({1s, 1s, 2s, 1s}));
  REQUIRE(instants.size() == 3);
  CHECK(instants[0].count == 2);
  CHECK(instants[1].at == 2s);
  CHECK(instants[2].first == 3);
  CHECK(instants_of({}).empty());
}

TEST_CASE("the clock steps back if a time is before the previous one") {
  CHECK_FALSE(steps_back({}));
  CHECK_FALSE(steps_back(at({1s, 1s, 2s})));
  CHECK(steps_back(at({1s, 2s, 1s})));
}

TEST_CASE("the most allowed within a window equals that from comparing every pair") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    Schedule schedule;
    Answers answers;
    microseconds at{0};
    for (int i = 0; i < 30; ++i) {
      schedule.push_back({at += microseconds{random() % 4} * 1'000'000});
      answers.push_back({.allowed = random() % 2 == 0});
    }
    REQUIRE(score_of(schedule, answers, kTwo).worst == slow_worst(schedule, answers, 10s));
  }
}

TEST_CASE("the worst window counts times as a coarse clock sees them, and is shown as it is") {
  const Answers all(4, {.allowed = true});
  const auto score = [&](microseconds first, microseconds second) {
    return score_of(at({first, first, second, second}), all, kTwo, 1us, 1s);
  };
  CHECK(score(900ms, 10s).worst == 2);
  CHECK(score(1s, 10'999ms).worst == 4);
  CHECK(score(1s, 10'999ms).worst_from == 1s);
  CHECK(score(1s, 10'999ms).worst_span == 9'999ms);
}

TEST_CASE("a denial is wrong if an exact log of what was allowed has room") {
  const Answer allowed{.allowed = true}, denied{};
  // Two count; at 10 s the first one has left.
  CHECK(score_of(at({0s, 1s, 9s}), {allowed, allowed, denied}, kTwo).wrongly_denied.empty());
  CHECK(score_of(at({0s, 1s, 10s}), {allowed, allowed, denied}, kTwo).wrongly_denied ==
        std::vector<std::size_t>{2});
  // A cost of 2 fills the limit, and a cost of 3 never fits.
  CHECK(score_of(at({0s, 9s}, 2), {allowed, denied}, kTwo).wrongly_denied.empty());
  CHECK(score_of(at({0s}, 3), {denied}, kTwo).wrongly_denied.empty());
  // With a clock that stepped back the first one still counts.
  CHECK(score_of(at({0s, 0s, 10s, 5s}), {allowed, allowed, allowed, denied}, kTwo)
            .wrongly_denied.empty());
}

TEST_CASE("when the clock steps back, time stands still") {
  const Answer allowed{.allowed = true};
  CHECK(score_of(at({20s, 0s, 20s}), {allowed, allowed, allowed}, kTwo).worst == 3);
}

TEST_CASE("a span has as many digits of margin as the µs that it lacks of a window") {
  CHECK(margin_digits({.worst_span = 10s - 1us}, 10s) == 1);
  CHECK(margin_digits({.worst_span = 10s - 999us}, 10s) == 3);
  CHECK(margin_digits({.worst_span = 9'900ms}, 10s) == 6);
  CHECK(margin_digits({.worst_span = 0us}, 10s) == 6);
}

TEST_CASE("a delayed request counts at the time when it may proceed") {
  const Answers answers{{.allowed = true}, {.allowed = true, .delay = 10s}};
  CHECK(score_of(at({0s, 0s}), answers, kTwo).worst == 1);
}

TEST_CASE("a denial that an exact log makes one tick longer is at the edge") {
  const Answer allowed{.allowed = true}, denied{};
  const auto score = [&](microseconds last, microseconds tick) {
    return score_of(at({0s, 0s, last}), {allowed, allowed, denied}, kTwo, tick);
  };
  CHECK(score(10s - 1us, 1us).wrongly_denied.empty());
  CHECK(score(10s, 1us).denied_at_edge == 1);
  CHECK(score(10s, 1us).only_at_edge());
  CHECK(score(10s + 1us, 1us).denied_at_edge == 0);
  CHECK(score(10s + 1us, 1us).wrongly_denied.size() == 1);
  // The limiter's clock shows whole milliseconds.
  CHECK(score(10s + 999us, 1ms).only_at_edge());
  CHECK_FALSE(score(10s + 1ms, 1ms).only_at_edge());
}

TEST_CASE("no request of a known schedule comes later than promised") {
  for (const auto& limit :
       {kTwo, Limit{5, 60s, {}}, Limit{1000, 10ms, {}}, Limit{300, 100us, {}}, Limit{1, 1us, {}}}) {
    CAPTURE(limit.limit);
    const auto fills = requests_to_fill(limit, 1);
    const auto most = 4 * fills + 8;
    const auto latest = latest_of_forward(limit, fills, most);
    for (const std::int64_t cost : {1, 2}) {
      for (const auto& schedule : forward_schedules(limit, cost, most)) {
        CHECK(std::max_element(schedule.begin(), schedule.end(), is_earlier)->at <= latest);
      }
      for (const microseconds ttl : {microseconds{1ms}, limit.window / 5, 9 * limit.window}) {
        for (const auto& schedule : ttl_schedules(limit, cost, most, ttl, 1ms)) {
          CHECK(static_cast<std::int64_t>(schedule.size()) <= most);
          CHECK(schedule.front().at >= 0us);
          CHECK(schedule.back().at <= ttl + 2 * limit.window + 2 * kTtlMargin);
        }
      }
    }
  }
}

TEST_CASE("a refund gives back the oldest units of the window") {
  const Answers all(4, {.allowed = true});
  const auto worst = [&](const Schedule& schedule) { return score_of(schedule, all, kTwo).worst; };
  CHECK(worst({{0s, 2}, {1s, -2}, {2s, 2}, {3s, 1}}) == 3);
  CHECK(worst({{0s, 2}, {1s, -1}, {2s, 1}, {3s, 1}}) == 3);
  CHECK(worst({{0s, 1}, {1s, 1}, {5s, -1}, {10s, 1}}) == 2);
  // Those that have left are not given back, and no more than there are.
  CHECK(worst({{0s, 2}, {10s, -2}, {11s, 2}, {12s, 2}}) == 4);
  CHECK(worst({{0s, 1}, {1s, -2}, {2s, 2}, {3s, 2}}) == 4);
}

TEST_CASE("a denial after a refund is wrong if the log has room") {
  const Answer allowed{.allowed = true}, denied{};
  const auto wrong = [&](std::int64_t refund) {
    return score_of({{0s, 2}, {1s, refund}, {2s, 1}}, {allowed, allowed, denied}, kTwo)
        .wrongly_denied.size();
  };
  CHECK(wrong(-1) == 1);
  CHECK(wrong(-2) == 1);
  CHECK(
      score_of({{0s, 2}, {10s, -1}, {11s, 2}, {12s, 1}}, {allowed, allowed, allowed, denied}, kTwo)
          .wrongly_denied.empty());
}

}  // namespace adversary_schedule_test
