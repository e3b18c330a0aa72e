// needs: server
#include <doctest/doctest.h>

#include "support/contract.h"
#include "support/limiters.h"
#include "support/properties.h"
#include "support/schedule.h"

namespace limiter_decide_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

constexpr microseconds kNow{1'700'000'000'000'000};
}  // namespace

TEST_CASE("a window below a millisecond is refused, whatever the cost") {
  for (const std::int64_t cost : {1, 0, -1}) {
    ModelLimiter model(algorithm("gcra"));
    CHECK_NOTHROW((void)model.ask("k", {5, 1ms, {}}, cost, kNow));
    CHECK_THROWS_AS((void)model.ask("k", {5, 999us, {}}, cost, kNow), rlctl::UsageError);
    CHECK_THROWS_AS((void)model.ask(Request{{"a", "b"}, {{5, 1s, {}}, {5, 60us, {}}}, cost, kNow}),
                    rlctl::UsageError);
  }
}

TEST_CASE("script and model agree on random traffic") {
  for (const Algorithm& row : usual_algorithms()) check_script_against_model(row);
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
