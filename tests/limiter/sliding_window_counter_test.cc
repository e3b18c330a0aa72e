// needs: server
#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "limiter/model.h"
#include "support/packed.h"
#include "support/random.h"
#include "support/stored_state.h"

namespace limiter_sliding_window_counter_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;
using rlctl::as_double;

namespace {

const Algorithm& counter() {
  return algorithm("sliding-window-counter");
}
constexpr microseconds kMinute{28'333'333 * 60s};  // 2023-11-14T22:13Z, the start of a minute

/// A call, and a look after it, with stored windows.
void check_frame(TestServer& server, const CounterFrame& frame, const Limit& limit,
                 std::int64_t cost) {
  CAPTURE(frame.start.count());
  CAPTURE(frame.previous);
  CAPTURE(frame.current);
  SlidingWindowCounterModel model(frame);
  const auto text = packed("counter~", as_double(frame.start), frame.previous, frame.current,
                           limit.limit, as_double(frame.window));
  check_calls(server, counter(), text, model, limit, {cost, 0}, kMinute);
}

}  // namespace

TEST_CASE(
    "sliding-window-counter: script and model agree where the estimate is close to the limit") {
  TestServer server;
  Random random;
  for (auto cases = operations(scaled(3'000, 30'000)); cases > 0; --cases) {
    const bool is_short = random.percent(30);
    // One window counted almost the limit, and the other almost nothing.
    const bool is_full = random.percent(40);
    // The limit is lowered afterwards, to less than what was counted.
    const bool is_lowered = random.percent(30);
    auto limit = random.log_uniform(is_full ? 3 : 1, is_short ? 100'000 : kLargestLimit);
    CounterFrame frame{};
    frame.previous = is_full ? limit - random.uniform(0, 2) : random.uniform(0, limit);
    frame.current = random.uniform(0, is_full ? 2 : limit);
    if (random.percent(30)) std::swap(frame.previous, frame.current);
    // One of the two windows' units leave after whole microseconds, or almost.
    const auto leaving =
        std::max<std::int64_t>(1, random.percent(50) ? frame.previous : frame.current);
    const auto times = is_lowered ? random.uniform(1, 2)
                                  : random.log_uniform(1, (kLongestWindow.count() - 1) / leaving);
    const auto window =
        is_short ? random.uniform(1'000, 50'000) : leaving * times + random.uniform(-1, 1);
    frame.window = std::max(kShortestWindow, microseconds{window});
    const auto left = random.uniform(0, is_full ? std::min<std::int64_t>(3, leaving) : leaving);
    const auto elapsed = random.percent(40) ? random.uniform(0, 2 * frame.window.count())
                                            : left * times + random.uniform(-1, 1);
    frame.start = kMinute - microseconds{elapsed};
    // Whether a few more units fit depends on how the sums round.
    const auto few = frame.previous - left + frame.current + random.uniform(0, 3);
    if (is_lowered) {
      limit = random.uniform(1, 6);
    } else if (random.percent(40)) {
      limit = std::clamp<std::int64_t>(few, 1, kLargestLimit);
    }
    const auto cost = random.percent(60) ? 1 : random.uniform(1, limit);
    check_frame(server, frame, {limit, frame.window, {}}, cost);
  }
}

TEST_CASE(
    "sliding-window-counter: the wait ends with the first microsecond at which the sum fits") {
  TestServer server;
  // After `kFits`, 773,745,983 units are left, plus 2e-12: the sum rounds down, its solution up.
  constexpr microseconds kFits = 226'253'968'254us;
  const CounterFrame frame{.start = kMinute + 1us - kFits,
                           .window = 1'000'000'000'000us,
                           .previous = 999'999'937,
                           .current = 0};
  check_frame(server, frame, {773'745'984, frame.window, {}}, 1);
  SlidingWindowCounterModel model(frame);
  CHECK(model.peek({773'745'984, frame.window, {}}, 1, kMinute).retry_after == 1us);
}

TEST_CASE("sliding-window-counter: remaining counts a request that rounding lets in") {
  TestServer server;
  // 1020 + 2^-43 units are carried. The difference to the limit is less than a whole number, by as
  // much; the sum for the last request that fits is rounded down to the limit.
  const CounterFrame frame{.start = kMinute - 8'640'488'286us,
                           .window = 8'821'938'540'007us,
                           .previous = 1021,
                           .current = 4};
  const Limit limit{1030, frame.window, {}};
  check_frame(server, frame, limit, 0);
  SlidingWindowCounterModel model(frame);
  CHECK(model.peek(limit, 0, kMinute).remaining == 6);
  CHECK(model.peek(limit, 6, kMinute).allowed);
  CHECK_FALSE(model.peek(limit, 7, kMinute).allowed);
}

namespace {

/// What a denied request waits for, by script and model, with these windows in force at kMinute.
void check_wait(TestServer& server, const CounterFrame& frame, const Limit& limit,
                microseconds expected) {
  CAPTURE(limit.limit);
  CAPTURE(limit.window.count());
  check_frame(server, frame, limit, 1);
  CHECK(SlidingWindowCounterModel(frame).peek(limit, 1, kMinute).retry_after == expected);
}

}  // namespace

TEST_CASE("sliding-window-counter: a wait ends before the window of its call would end later") {
  TestServer server;
  // From 3 ms on, a window of 3 ms ends after this one, and all 4 units count: not one of them.
  check_wait(server, {kMinute, 4ms, 4, 0}, {2, 3ms, {}}, 4ms);
  // In the next window that is so from 6 ms on, when 2000 of the 4000 would count.
  check_wait(server, {kMinute, 4ms, 0, 4000}, {2001, 3ms, {}}, 8ms);
  check_wait(server, {kMinute, 4ms, 0, 4000}, {2002, 3ms, {}}, 5'999us);
  // An hour ends after both, and so the next window has room at its start or not at all.
  check_wait(server, {kMinute, 1ms, 0, 1000}, {1000, 1h, {}}, 2ms);
  check_wait(server, {kMinute, 1ms, 1, 1000}, {1001, 1h, {}}, 1ms);
}

TEST_CASE("sliding-window-counter: a wait until the next window is right to the microsecond") {
  TestServer server;
  // The formula of the next window's estimate has room a microsecond before that window begins.
  check_wait(server, {kMinute, 1ms, 1002, 1000}, {1002, 1ms, {}}, 1ms);
  // At the start of the next window, the product and the quotient round to more than all units.
  constexpr microseconds kRoundsUp = 97'771'154'000'000us;
  check_wait(server, {kMinute, kRoundsUp, 1'000'000'000, 803'850'960}, {803'850'961, kRoundsUp, {}},
             kRoundsUp + 1us);
  // The sum is rounded down to the limit before its solution in real numbers.
  constexpr microseconds kRoundsDown = 62'173'924us;
  check_wait(server, {kMinute - 20'724'640us, kRoundsDown, 3, 904'575'454},
             {904'575'457, kRoundsDown, {}}, 1us);
}

TEST_CASE(
    "sliding-window-counter: a shorter window carries units rounded up, and a refund begins none") {
  TestServer server;
  // The stored window has ended. 127 + 2e-14 of its units count, which sums from 128 on round down.
  const CounterFrame frame{.start = kMinute - 60'062'893'081'761us,
                           .window = 50'000'000'000'000us,
                           .previous = 0,
                           .current = 159};
  const auto remaining = [&](std::int64_t limit, std::int64_t cost) {
    check_frame(server, frame, {limit, 1ms, {}}, cost);
    SlidingWindowCounterModel model(frame);
    const KeyAndLimit key{&model, {limit, 1ms, {}}};
    return decide(std::span(&key, 1), cost, kMinute).remaining;
  };
  CHECK(remaining(128, 0) == 1);
  CHECK(remaining(129, 0) == 1);
  CHECK(remaining(129, -1) == 2);
}

}  // namespace limiter_sliding_window_counter_test
