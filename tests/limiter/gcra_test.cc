// needs: server
#include "limiter/model.h"

#include <doctest/doctest.h>

#include <span>

#include "limiter/check.h"
#include "support/packed.h"
#include "support/properties.h"
#include "support/remainders.h"
#include "support/schedule.h"
#include "support/stored_state.h"

namespace limiter_gcra_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;
using rlctl::as_double;
using rlctl::Wide;

namespace {

const Algorithm& gcra() {
  return algorithm("gcra");
}
constexpr microseconds kNow{1'700'000'000'000'000};

}  // namespace

TEST_CASE("gcra: units return one by one, evenly") {
  ModelLimiter model(gcra());
  const Limit limit{3, 1s, {}};
  CHECK(model.ask("k", limit, 1, kNow) == Decision{true, 2, 0us, 333'334us, 0us, 0});
  CHECK(model.ask("k", limit, 1, kNow) == Decision{true, 1, 0us, 666'667us, 0us, 0});
  CHECK(model.ask("k", limit, 1, kNow) == Decision{true, 0, 0us, 1s, 0us, 0});
  CHECK(model.ask("k", limit, 1, kNow) == Decision{false, 0, 333'334us, 1s, 0us, 1});
  CHECK(model.ask("k", limit, 1, kNow + 333'333us) == Decision{false, 0, 1us, 666'667us, 0us, 1});
  CHECK(model.ask("k", limit, 1, kNow + 333'334us) == Decision{true, 0, 0us, 1s, 0us, 0});
}

TEST_CASE("gcra: thirds of a microsecond are kept, so that the rate is exact") {
  GcraModel model;
  const Limit limit{900'000, 1s, 2};
  std::int64_t allowed = 0;
  for (auto now = kNow; now < kNow + 100ms; now += 1us) {
    if (!model.peek(limit, 1, now).allowed) continue;
    model.record(limit, 1, now);
    ++allowed;
  }
  CHECK(allowed == 90'001);  // 2 + 99,999 x 0.9
}

TEST_CASE(
    "gcra: the burst is the most that is allowed at once, the limit is the rate of recovery") {
  ModelLimiter model(gcra());
  const Limit limit{1, 1s, 3};
  CHECK(model.ask("k", limit, 3, kNow) == Decision{true, 0, 0us, 3s, 0us, 0});
  CHECK(model.ask("k", limit, 2, kNow + 1s) == Decision{false, 1, 1s, 2s, 0us, 1});
  CHECK(model.ask("k", limit, 4, kNow + 1s) == Decision{false, 1, kNever, 2s, 0us, 1});
}

TEST_CASE("gcra: a clock that steps back does not free any units") {
  ModelLimiter model(gcra());
  const Limit limit{1, 1s, {}};
  CHECK(model.ask("k", limit, 1, kNow).allowed);
  CHECK(model.ask("k", limit, 1, kNow - 10s) == Decision{false, 0, 11s, 11s, 0us, 1});
}

TEST_CASE("gcra: a refund returns units, but no more than were taken") {
  ModelLimiter model(gcra());
  const Limit limit{3, 1s, {}};
  CHECK(model.ask("k", limit, -1, kNow) == Decision{true, 3, 0us, 0us, 0us, 0});
  CHECK_FALSE(model.exists("k"));
  CHECK(model.ask("k", limit, 3, kNow).allowed);
  CHECK(model.ask("k", limit, -1, kNow) == Decision{true, 1, 0us, 666'667us, 0us, 0});
  CHECK(model.ask("k", limit, -7, kNow) == Decision{true, 3, 0us, 0us, 0us, 0});
  CHECK_FALSE(model.exists("k"));
  // Nothing is left of exactly one unit, also if the clock steps back then.
  CHECK(model.ask("k", limit, 1, kNow).allowed);
  CHECK(model.ask("k", limit, -1, kNow) == Decision{true, 3, 0us, 0us, 0us, 0});
  CHECK(model.ask("k", limit, 3, kNow - 1s).allowed);
  // A third of a microsecond is left of two units, 333 microseconds later.
  const Limit fast{3, 1ms, {}};
  CHECK(model.ask("f", fast, 2, kNow).allowed);
  CHECK(model.ask("f", fast, -1, kNow + 333us) == Decision{true, 2, 0us, 1us, 0us, 0});
}

TEST_CASE("gcra: under a new burst the time is kept") {
  ModelLimiter model(gcra());
  CHECK(model.ask("k", {3, 1s, {}}, 1, kNow).reset_after == 333'334us);  // 333,333 and 1/3
  CHECK(model.ask("k", {3, 1s, 9}, 1, kNow + 1us) == Decision{true, 7, 0us, 666'666us, 0us, 0});
  CHECK(model.ask("k", {3, 1s, 1}, 1, kNow + 1us) ==
        Decision{false, 0, 666'666us, 666'666us, 0us, 1});
}

TEST_CASE("gcra: never more than the burst plus what the rate adds, to the last unit") {
  Random random;
  ModelLimiter model(gcra());
  check_burst_and_rate(model, gcra(), random, 100, 0);
  TestServer server;
  ScriptLimiter script(server, gcra());
  check_burst_and_rate(script, gcra(), random, 10, 0);
}

TEST_CASE("gcra: script and model agree about every remainder under every other limit") {
  check_remainders<GcraModel>(gcra(), "gcra~", {0, 1, 2, -1, -2, -3});
}

// More units than the burst: another call had a larger one. 648,454,208 is one of the refunds for
// which a product that is rounded leaves some units.
TEST_CASE("gcra: a large refund gives back exactly as many units") {
  TestServer server;
  ScriptLimiter script(server, gcra());
  const Limit limit{999'999'937, 1'999'999'867us, 9'000'000};
  const std::int64_t rest = 1'000'003;
  for (const std::int64_t refund : {32'769, 7'654'321, 648'454'208, 987'654'321, 999'999'999}) {
    CAPTURE(refund);
    const auto parts = Wide{rest + refund} * limit.window.count();
    GcraModel model(
        ArrivalTime{.time = {.parts = to_parts(kNow, limit.limit) + parts, .per_us = limit.limit},
                    .limit = limit});
    const auto at = kNow.count() + static_cast<std::int64_t>(parts / limit.limit);
    const auto text =
        packed("gcra~", static_cast<double>(at), static_cast<std::int64_t>(parts % limit.limit),
               limit.limit, as_double(limit.window), *limit.burst);
    REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
    const KeyAndLimit key{&model, limit};
    for (const auto cost : {-refund, std::int64_t{0}, -rest}) {
      CHECK(script.ask("k", limit, cost, kNow) == decide(std::span(&key, 1), cost, kNow));
    }
    CHECK(server.pttl("k") == -2);
  }
}

// A clock that has stepped back finds more units than the stored burst. Their products with the
// parts of a microsecond exceed 2^53.
TEST_CASE("gcra: under another limit, a large number of units is exact") {
  TestServer server;
  ScriptLimiter script(server, gcra());
  const Limit stored{999'999'937, 1'999'999'867us, 9'000'000};
  const Limit limit{1'000, 1s, 1'000'000'000};
  for (const std::int64_t used : {9'007'321, 648'454'208, 700'000'001, 987'654'321}) {
    for (const int more : {-1, 0, 1}) {
      CAPTURE(used);
      CAPTURE(more);
      const auto parts = Wide{used} * stored.window.count() + more;
      GcraModel model(ArrivalTime{
          .time = {.parts = to_parts(kNow, stored.limit) + parts, .per_us = stored.limit},
          .limit = stored});
      const auto at = kNow.count() + static_cast<std::int64_t>(parts / stored.limit);
      const auto text =
          packed("gcra~", static_cast<double>(at), static_cast<std::int64_t>(parts % stored.limit),
                 stored.limit, as_double(stored.window), *stored.burst);
      REQUIRE_FALSE(server.call({"SET", "k", text}).is_error());
      const KeyAndLimit key{&model, limit};
      const auto room = *limit.burst - used;
      CHECK(script.ask("k", limit, 0, kNow).remaining == (more > 0 ? room - 1 : room));
      for (const auto cost :
           {std::int64_t{0}, room + 1, *limit.burst, room + 2, room, std::int64_t{0}}) {
        CAPTURE(cost);
        CHECK(script.ask("k", limit, cost, kNow) == decide(std::span(&key, 1), cost, kNow));
      }
    }
  }
}

TEST_CASE("gcra: a refund by a caller's clock keeps the limit that the server's clock stored") {
  TestServer server;
  const Limit stored{10, 20s, 16};
  const auto tat = kNow + 20s;
  GcraModel model(ArrivalTime{.time = {.parts = to_parts(tat, 10), .per_us = 10}, .limit = stored});
  const auto text = packed("gcra ", as_double(tat), 0, stored.limit, as_double(stored.window), 16);
  check_calls(server, gcra(), text, model, {1000, 20s, 16}, {-1, 0, 1}, kNow);
}

TEST_CASE("gcra: script and model agree on random traffic") {
  check_script_against_model(gcra());
}

}  // namespace limiter_gcra_test
