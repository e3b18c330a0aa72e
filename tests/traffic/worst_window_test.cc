#include "traffic/measurement.h"

#include <doctest/doctest.h>

#include <vector>

#include "support/random.h"

namespace traffic_worst_window_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using rlctl::test::Random;

namespace {

struct Unit {
  microseconds at;
  std::int64_t cost;
};

struct Found {
  std::int64_t allowed = 0;
  microseconds from{0}, span{0};
  bool operator==(const Found&) const = default;
};

/// Tries every span that begins with a request, in order.
Found by_trying_all(const std::vector<Unit>& units, microseconds window) {
  Found best;
  for (std::size_t first = 0; first < units.size(); ++first) {
    Found span{.from = units[first].at};
    for (std::size_t i = first; i < units.size() && units[i].at - span.from < window; ++i) {
      span.allowed += units[i].cost;
      span.span = units[i].at - span.from;
    }
    if (span.allowed > best.allowed) best = span;
  }
  return best;
}

Found measured(const std::vector<Unit>& units, microseconds window) {
  WorstWindow worst(window);
  for (const auto& [at, cost] : units) worst.allow(at, cost);
  return {.allowed = worst.allowed(), .from = worst.from(), .span = worst.span()};
}

}  // namespace

TEST_CASE("the worst window equals that of an exhaustive search") {
  Random random;
  for (int round = 0; round < 2'000; ++round) {
    const microseconds window{random.log_uniform(1, 1'000)};
    std::vector<Unit> units;
    microseconds at{random.uniform(0, 1'000'000)};
    for (auto left = random.uniform(0, 60); left > 0; --left) {
      if (!random.percent(30)) at += microseconds{random.log_uniform(1, window.count() + 1)};
      units.push_back({at, random.percent(70) ? 1 : random.uniform(2, 9)});
    }
    CAPTURE(window.count());
    CHECK(measured(units, window) == by_trying_all(units, window));
  }
}

TEST_CASE("a span contains what arrives less than a window after its start") {
  CHECK(measured({{10us, 1}, {14us, 1}}, 5us) == Found{2, 10us, 4us});
  CHECK(measured({{10us, 1}, {15us, 1}}, 5us) == Found{1, 10us, 0us});
  CHECK(measured({{10us, 1}, {11us, 1}}, 1us) == Found{1, 10us, 0us});
  CHECK(measured({{10us, 2}, {10us, 3}}, 1us) == Found{5, 10us, 0us});
}

TEST_CASE("among equal spans the first is reported") {
  CHECK(measured({{10us, 1}, {13us, 1}, {30us, 2}}, 5us) == Found{2, 10us, 3us});
}

TEST_CASE("without allowed requests the result is empty") {
  CHECK(measured({}, 60s) == Found{});
}

}  // namespace traffic_worst_window_test
