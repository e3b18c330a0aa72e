// needs: server
#include <doctest/doctest.h>

#include "support/limiters.h"
#include "support/properties.h"
#include "support/schedule.h"

namespace limiter_decide_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

constexpr microseconds kNow{1'700'000'000'000'000};
const Limit kSecond{1, 1s, {}};
const Limit kMinute{2, 60s, {}};

Decision ask_both(Limiter& limiter, std::int64_t cost, microseconds now) {
  return limiter.ask(Request{{"second", "minute"}, {kSecond, kMinute}, cost, now});
}

}  // namespace

TEST_CASE("several keys get one decision: either all record it or none does") {
  ModelLimiter model(algorithm("sliding-window-log"));
  CHECK(ask_both(model, 1, kNow) == Decision{true, 0, 0us, 60s, 0us, 0});
  CHECK(ask_both(model, 1, kNow) == Decision{false, 0, 1s, 60s, 0us, 1});
  CHECK(model.ask("minute", kMinute, 0, kNow).remaining == 1);
  CHECK(ask_both(model, 1, kNow + 1s) == Decision{true, 0, 0us, 60s, 0us, 0});
  CHECK(ask_both(model, 1, kNow + 2s) == Decision{false, 0, 58s, 59s, 0us, 2});
}

TEST_CASE(
    "the key that denies longest determines retry_after and denied_by, and never is longest") {
  ModelLimiter model(algorithm("sliding-window-log"));
  CHECK(ask_both(model, 2, kNow) == Decision{false, 1, kNever, 0us, 0us, 1});
  CHECK(ask_both(model, 3, kNow) == Decision{false, 1, kNever, 0us, 0us, 1});
  CHECK(model.ask("minute", kMinute, 2, kNow).allowed);
  CHECK(ask_both(model, 2, kNow) == Decision{false, 0, kNever, 60s, 0us, 1});
  CHECK(model.ask("second", kSecond, 1, kNow).allowed);
  CHECK(ask_both(model, 1, kNow) == Decision{false, 0, 60s, 60s, 0us, 2});
  // Of two that never allow it, or for which the wait is the same, the first.
  CHECK(ask_both(model, 3, kNow) == Decision{false, 0, kNever, 60s, 0us, 1});
  const Request same{{"minute", "other"}, {kMinute, kMinute}, 1, kNow};
  CHECK(model.ask("other", kMinute, 2, kNow).allowed);
  CHECK(model.ask(same) == Decision{false, 0, 60s, 60s, 0us, 1});
  CHECK(model.ask(Request{{"other", "never"}, {kMinute, kSecond}, 2, kNow}) ==
        Decision{false, 0, kNever, 60s, 0us, 2});
}

TEST_CASE("a look and a refund are always allowed, and each key handles them separately") {
  ModelLimiter model(algorithm("sliding-window-log"));
  CHECK(model.ask("second", kSecond, 1, kNow).allowed);
  CHECK(ask_both(model, 0, kNow) == Decision{true, 0, 0us, 1s, 0us, 0});
  CHECK(ask_both(model, -1, kNow) == Decision{true, 1, 0us, 0us, 0us, 0});
  CHECK_FALSE(model.exists("second"));
}

TEST_CASE("a window below a millisecond is refused, whatever the cost") {
  for (const std::int64_t cost : {1, 0, -1}) {
    ModelLimiter model(algorithm("gcra"));
    CHECK_NOTHROW((void)model.ask("k", {5, 1ms, {}}, cost, kNow));
    CHECK_THROWS_AS((void)model.ask("k", {5, 999us, {}}, cost, kNow), rlctl::UsageError);
    CHECK_THROWS_AS((void)model.ask(Request{{"a", "b"}, {{5, 1s, {}}, {5, 60us, {}}}, cost, kNow}),
                    rlctl::UsageError);
  }
}

TEST_CASE("the delay over several queues is the longest one") {
  ModelLimiter model(algorithm("leaky-bucket"));
  const Request both{{"a", "b"}, {{1, 1s, 5}, {1, 3s, 5}}, 1, kNow};
  CHECK(model.ask(both).delay == 0s);
  CHECK(model.ask(both).delay == 3s);
}

TEST_CASE("every model allows exactly its capacity at one instant") {
  for (const Algorithm& row : algorithms()) {
    if (row.make_model == nullptr) continue;
    ModelLimiter model(row);
    for (const Limit& limit :
         {Limit{3, 1s, {}}, Limit{6, 1s, {}}, Limit{7, 60s, {}}, Limit{60, 1s, {}},
          Limit{600, 1s, {}}, Limit{900'000, 1s, {}}, Limit{1'000'000, 720h, {}}}) {
      check_capacity_at_one_instant(model, row, limit, scaled(10'000, 2'000'000));
    }
  }
}

TEST_CASE("every model keeps its promises about retry_after and reset_after") {
  Random random;
  for (const Algorithm& row : algorithms()) {
    if (row.make_model == nullptr) continue;
    ModelLimiter model(row);
    check_retry_after(model, row, random, scaled(5'000, 50'000));
    check_reset_after(model, row, random, scaled(5'000, 50'000));
  }
}

TEST_CASE("a single key gets the same decision as next to another key in the same state") {
  Random random;
  for (const Algorithm& row : algorithms()) {
    if (row.make_model == nullptr) continue;
    for (int round = 0; round < 50; ++round) {
      ModelLimiter model(row);
      const Limit limit = make_limit(row, random);
      auto now = kNow;
      for (int i = 0; i < 100; ++i) {
        now += microseconds{random.log_uniform(1, limit.window.count()) - 1};
        const auto cost = random.percent(80) ? 1 : random.log_uniform(1, 2 * limit.limit);
        if (cost > row.max_cost) continue;
        const auto alone = model.ask("alone", limit, cost, now);
        CHECK(alone == model.ask(Request{{"one", "other"}, {limit, limit}, cost, now}));
      }
    }
  }
}

}  // namespace limiter_decide_test
