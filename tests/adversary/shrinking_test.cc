#include "adversary/shrinking.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "limiter/algorithm.h"
#include "traffic/script.h"

namespace rlctl::adversary::shrinking_test {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kLimit = 30'000;

/// As many requests as a limit allows before the end of a window, and again after it.
Schedule boundary() {
  Schedule schedule(2 * kLimit, {.at = seconds{59}});
  for (std::size_t i = kLimit; i < schedule.size(); ++i) schedule[i].at = seconds{60};
  return schedule;
}

/// Shrinks the requests of boundary() to those that a fixed window allows beyond its limit.
Shrunk shrink_boundary(const KeepsShrinking& keeps_on) {
  const limiter::Limit limit{.limit = kLimit, .window = seconds{60}};
  ModelTrial trial({.algorithm = limiter::find_algorithm("fixed-window"), .limits = {limit}});
  const auto schedule = boundary();
  const auto answers = trial.ask({&schedule, 1}).front();
  const auto shows = [](const Schedule& tried, const Answers& given) {
    std::size_t allowed = 0;
    for (const auto& answer : given) allowed += answer.allowed ? 1 : 0;
    return allowed > kLimit && tried.front().at < seconds{60};
  };
  return shrink(trial, {schedule, answers}, shows, {.window = limit.window}, 200 * kLimit,
                keeps_on);
}

}  // namespace

TEST_CASE("shrinking ends early when it is told to, with what it has") {
  std::int64_t called = 0;
  const auto none = shrink_boundary([&](std::int64_t asked, std::int64_t most) {
    CHECK(asked == 0);
    CHECK(most == 200 * kLimit);
    ++called;
    return false;
  });
  CHECK(called == 1);
  CHECK(none.asked == 0);
  CHECK(none.found.schedule == boundary());
  CHECK(none.found.answers.size() == none.found.schedule.size());
}

TEST_CASE("shrinking asks whether to go on before each of many long schedules") {
  std::vector<std::int64_t> sent;
  const auto all = shrink_boundary([&](std::int64_t asked, std::int64_t) {
    sent.push_back(asked);
    return true;
  });
  CHECK(all.found.schedule.size() == kLimit + 1);
  sent.push_back(all.asked);
  for (std::size_t i = 1; i < sent.size(); ++i) CHECK(sent[i] - sent[i - 1] <= 2 * kLimit);
}

}  // namespace rlctl::adversary::shrinking_test
