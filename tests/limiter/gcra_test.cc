// needs: server
#include "limiter/model.h"

#include <doctest/doctest.h>

#include <string>

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

/// A key that so many parts of a unit beyond kNow have been taken from, and what the script stores.
struct Stored {
  Stored(const Limit& limit, Wide parts)
      : model(ArrivalTime{
            .time = {.parts = to_parts(kNow, limit.limit) + parts, .per_us = limit.limit},
            .limit = limit}),
        text(packed("gcra~",
                    as_double(kNow + microseconds{static_cast<std::int64_t>(parts / limit.limit)}),
                    static_cast<std::int64_t>(parts % limit.limit), limit.limit,
                    as_double(limit.window), *limit.burst)) {}

  GcraModel model;
  std::string text;
};

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
  const Limit limit{999'999'937, 1'999'999'867us, 9'000'000};
  const std::int64_t rest = 1'000'003;
  for (const std::int64_t refund : {32'769, 7'654'321, 648'454'208, 987'654'321, 999'999'999}) {
    CAPTURE(refund);
    Stored stored(limit, Wide{rest + refund} * limit.window.count());
    check_calls(server, gcra(), stored.text, stored.model, limit, {-refund, 0, -rest}, kNow);
    CHECK(server.pttl("k") == -2);
  }
}

// A clock that has stepped back finds more units than the stored burst. Their products with the
// parts of a microsecond exceed 2^53.
TEST_CASE("gcra: under another limit, a large number of units is exact") {
  TestServer server;
  const Limit before{999'999'937, 1'999'999'867us, 9'000'000};
  const Limit limit{1'000, 1s, 1'000'000'000};
  for (const std::int64_t used : {9'007'321, 648'454'208, 700'000'001, 987'654'321}) {
    for (const int more : {-1, 0, 1}) {
      CAPTURE(used);
      CAPTURE(more);
      Stored stored(before, Wide{used} * before.window.count() + more);
      const auto room = *limit.burst - used;
      CHECK(stored.model.peek(limit, 0, kNow).remaining == (more > 0 ? room - 1 : room));
      check_calls(server, gcra(), stored.text, stored.model, limit,
                  {0, room + 1, *limit.burst, room + 2, room, 0}, kNow);
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
