#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "limiter/check.h"
#include "limiter/model.h"
#include "support/observed.h"
#include "support/packed.h"
#include "support/properties.h"
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

/// Remainders of microseconds under a limit: all of them, or some.
std::vector<std::int64_t> remainders(std::int64_t limit) {
  if (limit > 7) return {0, 1, 2, limit / 3, 32'767, limit - 2, limit - 1};
  std::vector<std::int64_t> all;
  for (std::int64_t rest = 0; rest < limit; ++rest) all.push_back(rest);
  return all;
}

struct Remainder {
  std::int64_t limit, rest;
};

/// A call, and a look after it, with a last departure that another limit stored.
void check_remainder(TestServer& server, const Remainder& stored, const Limit& limit,
                     const std::string& cost) {
  for (const microseconds offset : {0us, 1us, 3'500'000us, -limit.window / limit.limit}) {
    CAPTURE(offset.count());
    const auto at = (kNow + offset).count();
    LeakyBucketModel model(
        RationalTime{.parts = Wide{at} * stored.limit + stored.rest, .per_us = stored.limit});
    const auto text = packed("leaky~", static_cast<double>(at), stored.rest, stored.limit, 1e6, 1);
    REQUIRE_FALSE(server.call({"SET", "k", text, "EX", "1000"}).is_error());
    const KeyAndLimit key{&model, limit};
    for (const auto& asked : {cost, std::string("0")}) {
      const auto reply =
          server.eval(leaky_bucket().script, {"k"},
                      {std::to_string(limit.limit), std::to_string(limit.window.count()),
                       std::to_string(*limit.burst), asked, std::to_string(kNow.count())});
      REQUIRE_MESSAGE(!reply.is_error(), std::string(reply.text()));
      CHECK(Checker::parse(reply) == decide(std::span(&key, 1), std::stoll(asked), kNow));
    }
    const bool exists = server.pttl("k") != -2;
    CHECK(exists == !model.empty());
  }
}

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
  CHECK_THROWS_AS(model.ask("k", {1, 1s, {}}, -1, kNow), UsageError);
}

TEST_CASE("leaky-bucket: script and model agree about every remainder under every other limit") {
  TestServer server;
  const std::vector<std::int64_t> limits{1, 2, 3, 4, 5, 6, 7, 32'768, 98'303, 999'999'937};
  for (const auto stored : limits) {
    for (const auto rest : remainders(stored)) {
      for (const auto limit : limits) {
        for (const std::string cost : {"0", "1", "2"}) {
          CAPTURE(stored);
          CAPTURE(rest);
          CAPTURE(limit);
          CAPTURE(cost);
          check_remainder(server, {stored, rest}, {limit, 7s, 3}, cost);
        }
      }
    }
  }
  // These are whole numbers of units, to the last part of a microsecond.
  check_remainder(server, {1'000'000'000, 998'000'000}, {500'000'000, 1s, 1'000}, "0");
  check_remainder(server, {999'999'000, 666'666'000}, {333'333'000, 1ms, 1'000'000}, "0");
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
  check_script_against_model(leaky_bucket(), 100'000);
}

}  // namespace limiter_leaky_bucket_test
