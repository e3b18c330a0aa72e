// needs: server
#include <doctest/doctest.h>

#include "limiter/model.h"
#include "support/observed.h"
#include "support/properties.h"
#include "support/remainders.h"
#include "support/schedule.h"

namespace limiter_leaky_bucket_test {

using rlctl::UsageError;

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

const Algorithm& leaky_bucket() {
  return algorithm("leaky-bucket");
}
constexpr microseconds kNow{1'700'000'000'000'000};

}  // namespace

TEST_CASE("leaky-bucket: the first request leaves at once, and those after it wait their turn") {
  ModelLimiter model(leaky_bucket());
  const Limit limit{3, 1s, 2};
  CHECK(model.ask("k", limit, 1, kNow) == Decision{true, 2, 0us, 333'334us, 0us, 0});
  CHECK(model.ask("k", limit, 1, kNow) == Decision{true, 1, 0us, 666'667us, 333'334us, 0});
  CHECK(model.ask("k", limit, 1, kNow) == Decision{true, 0, 0us, 1s, 666'667us, 0});
  CHECK(model.ask("k", limit, 1, kNow) == Decision{false, 0, 333'334us, 1s, 0us, 1});
  CHECK(model.ask("k", limit, 1, kNow + 333'333us).allowed == false);
  CHECK(model.ask("k", limit, 1, kNow + 333'334us) == Decision{true, 0, 0us, 1s, 666'666us, 0});
}

TEST_CASE("leaky-bucket: a cost takes that many departures, and the delay is that of the first") {
  ModelLimiter model(leaky_bucket());
  const Limit limit{1, 1s, 3};
  CHECK(model.ask("k", limit, 2, kNow) == Decision{true, 2, 0us, 2s, 0us, 0});
  CHECK(model.ask("k", limit, 3, kNow) == Decision{false, 2, 1s, 2s, 0us, 1});
  CHECK(model.ask("k", limit, 2, kNow) == Decision{true, 0, 0us, 4s, 2s, 0});
  CHECK(model.ask("k", limit, 0, kNow) == Decision{true, 0, 0us, 4s, 0us, 0});
}

TEST_CASE("leaky-bucket: the queue holds the burst plus the request that leaves at once") {
  ModelLimiter model(leaky_bucket());
  CHECK(model.ask("k", {1, 1s, 2}, 4, kNow) == Decision{false, 3, kNever, 0us, 0us, 1});
  CHECK(model.ask("k", {1, 1s, 2}, 3, kNow) == Decision{true, 0, 0us, 3s, 0us, 0});
}

TEST_CASE("leaky-bucket: a clock that steps back lengthens the wait") {
  ModelLimiter model(leaky_bucket());
  const Limit limit{1, 1s, 1};
  CHECK(model.ask("k", limit, 1, kNow).delay == 0us);
  CHECK(model.ask("k", limit, 1, kNow - 500ms) == Decision{false, 0, 500ms, 1500ms, 0us, 1});
}

TEST_CASE("leaky-bucket: a place in the queue cannot be refunded") {
  ModelLimiter model(leaky_bucket());
  CHECK_THROWS_AS((void)model.ask("k", {1, 1s, {}}, -1, kNow), UsageError);
}

TEST_CASE("leaky-bucket: script and model agree about every remainder under every other limit") {
  check_remainders<LeakyBucketModel>(leaky_bucket(), "leaky~", {0, 1, 2});
}

TEST_CASE("leaky-bucket: if the interval grows, the TTL is checked even within a second") {
  TestServer server;
  ObservedScript script(server, leaky_bucket());
  script.servers_clock = kNow;
  REQUIRE_FALSE(script.eval({"k"}, {"60000", "60000000"}).is_error());
  (void)script.ttls_set();
  script.left_ms = 1;
  REQUIRE_FALSE(script.eval({"k"}, {"60000", "60000000"}).is_error());
  CHECK(script.ttls_set().empty());
  REQUIRE_FALSE(script.eval({"k"}, {"30000", "60000000"}).is_error());
  CHECK(script.ttls_set().size() == 1);
}

TEST_CASE("leaky-bucket: script and model agree on random traffic") {
  check_script_against_model(leaky_bucket());
}

}  // namespace limiter_leaky_bucket_test
