// needs: server
#include "limiter/model.h"

#include <doctest/doctest.h>

#include <span>

#include "limiter/check.h"
#include "support/packed.h"
#include "support/properties.h"
#include "support/random.h"
#include "support/remainders.h"
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

}  // namespace limiter_gcra_test
