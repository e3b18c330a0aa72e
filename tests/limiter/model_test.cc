#include "limiter/model.h"

#include <doctest/doctest.h>

#include <cstdint>

#include "limiter/algorithm.h"

// Models and scripts are compared in the tests of each algorithm and by tests/night/exactness.

namespace limiter_model_test {

using std::chrono::microseconds;
using namespace std::chrono_literals;
using namespace rlctl::limiter;

namespace {

constexpr microseconds kStart{1'700'000'000'000'000};  // the edge of a window of 10 s

void check_used(const KeyModel& model, const Limit& limit, microseconds at, std::int64_t units,
                double exact) {
  CAPTURE(at.count());
  const auto usage = model.usage(limit, kStart + at);
  CHECK(usage.units == units);
  CHECK(usage.exact == doctest::Approx(exact).epsilon(1e-9));
}

/// A log of three units and, 9 s later, at kStart, one more.
SlidingWindowLogModel log_of_four(const Limit& limit) {
  SlidingWindowLogModel model;
  model.record(limit, 3, kStart - 9s);
  model.record(limit, 1, kStart);
  return model;
}

}  // namespace

TEST_CASE("usage is reported exactly, and in whole units rounded up") {
  const Limit limit{.limit = 10, .window = 10s};
  SUBCASE("fixed-window: the count until the window ends") {
    FixedWindowModel model;
    model.record(limit, 3, kStart);
    check_used(model, limit, 0s, 3, 3);
    check_used(model, limit, 10s - 1us, 3, 3);
    check_used(model, limit, 10s, 0, 0);
  }
  SUBCASE("sliding-window-log: the units in the window") {
    SlidingWindowLogModel model;
    model.record(limit, 2, kStart);
    model.record(limit, 1, kStart + 4s);
    check_used(model, limit, 4s, 3, 3);
    check_used(model, limit, 10s, 1, 1);
    check_used(model, limit, 14s, 0, 0);
  }
  SUBCASE("sliding-window-counter: the estimate, which does not grow if the clock steps back") {
    SlidingWindowCounterModel model;
    model.record(limit, 4, kStart);
    check_used(model, limit, 0s, 4, 4);
    check_used(model, limit, 11s, 4, 3.6);
    check_used(model, limit, 15s, 2, 2);
    check_used(model, limit, -3s, 4, 4);
    model.record(limit, 1, kStart + 15s);
    check_used(model, limit, 9s, 5, 5);
  }
  SUBCASE("token-bucket: what is missing from a full bucket") {
    const Limit with_burst{.limit = 10, .window = 10s, .burst = 5};
    TokenBucketModel model;
    model.record(with_burst, 5, kStart);
    check_used(model, with_burst, 0s, 5, 5);
    check_used(model, with_burst, 1500ms, 4, 3.5);
    check_used(model, with_burst, 2s, 3, 3);
    check_used(model, with_burst, 5s, 0, 0);
    check_used(model, with_burst, -2s, 5, 5);
  }
  SUBCASE("gcra: what must still come back") {
    GcraModel model;
    model.record(limit, 5, kStart);
    check_used(model, limit, 0s, 5, 5);
    check_used(model, limit, 1500ms, 4, 3.5);
    check_used(model, limit, 5s, 0, 0);
  }
  SUBCASE("leaky-bucket: how far the queue reaches") {
    LeakyBucketModel model;
    model.record(limit, 3, kStart);
    check_used(model, limit, 0s, 3, 3);
    check_used(model, limit, 500ms, 3, 2.5);
    check_used(model, limit, 3s, 0, 0);
  }
}

TEST_CASE("usage that does not fit into 64 bits is capped") {
  // A time whose limit is unknown, such as another library's.
  const GcraModel model(
      ArrivalTime{.time = {.parts = to_parts(kStart + kLongestWindow, 1), .per_us = 1}});
  const Limit short_one{.limit = kLargestLimit, .window = 1us};
  CHECK(model.usage(short_one, kStart).units == INT64_MAX);
}

// For a window of 10 s the TTL is 12,500 ms: 10,000,999 µs plus a quarter of the window, rounded
// down.

TEST_CASE("sliding-window-log: a key is shared if its TTL is longer than a request would set it") {
  const Limit long_one{.limit = 100, .window = 10s};
  // How many units are left after a request with a shorter window that comes `lag` before the
  // newest unit.
  const auto left_after = [&](microseconds lag) {
    auto model = log_of_four(long_one);
    model.record({.limit = 100, .window = 8s}, 1, kStart - lag);
    return model.usage(long_one, kStart).units;
  };
  CHECK(left_after(2'499'000us) == 4);
  CHECK(left_after(2'499'001us) == 2);
}

TEST_CASE("sliding-window-log: a TTL that is too short is extended") {
  const Limit limit{.limit = 100, .window = 10s};
  // An extended TTL is 15,000 ms, and the next request treats the key as shared.
  const auto left_after = [&](microseconds lag) {
    auto model = log_of_four(limit);
    model.record(limit, 1, kStart - lag);
    model.record(limit, 1, kStart + 2s);
    return model.usage({.limit = 100, .window = 1h}, kStart + 2s).units;
  };
  CHECK(left_after(2'499'001us) == 3);
  CHECK(left_after(2'499'002us) == 5);
}

}  // namespace limiter_model_test
