#include "limiter/model.h"

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "limiter/check.h"
#include "support/packed.h"
#include "support/properties.h"
#include "support/schedule.h"

namespace limiter_gcra_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;

namespace {

const Algorithm& gcra() {
  return algorithm("gcra");
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

/// A call, and a look after it, with a theoretical arrival time that another limit stored.
void check_remainder(TestServer& server, const Remainder& stored, const Limit& limit,
                     const std::string& cost) {
  for (const microseconds offset : {0us, 1us, 3'500'000us}) {
    CAPTURE(offset.count());
    const auto at = (kNow + offset).count();
    GcraModel model(
        RationalTime{.parts = Wide{at} * stored.limit + stored.rest, .per_us = stored.limit});
    const auto text = packed("gcra~", static_cast<double>(at), stored.rest, stored.limit, 1e6, 1);
    REQUIRE_FALSE(server.call({"SET", "k", text, "EX", "1000"}).is_error());
    const KeyAndLimit key{&model, limit};
    for (const auto& asked : {cost, std::string("0")}) {
      const auto reply =
          server.eval(gcra().script, {"k"},
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
    if (!model.look(limit, 1, now).allowed) continue;
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
}

TEST_CASE("gcra: under a new limit the time is kept and its remainder is rounded up") {
  ModelLimiter model(gcra());
  CHECK(model.ask("k", {3, 1s, {}}, 1, kNow).reset_after == 333'334us);  // 333,333 and 1/3
  CHECK(model.ask("k", {2, 1s, {}}, 1, kNow) ==
        Decision{true, 0, 0us, 833'334us, 0us, 0});  // 333,333 and 1/2, and 500,000
  CHECK(model.ask("k", {1, 1s, 2}, 0, kNow) == Decision{true, 1, 0us, 833'334us, 0us, 0});
}

TEST_CASE("gcra: never more than the burst plus what the rate adds, to the last unit") {
  Random random;
  ModelLimiter model(gcra());
  check_burst_and_rate(model, gcra(), random, 200, 0);
  TestServer server;
  ScriptLimiter script(server, gcra());
  check_burst_and_rate(script, gcra(), random, 20, 0);
}

TEST_CASE("gcra: script and model agree about every remainder under every other limit") {
  TestServer server;
  const std::vector<std::int64_t> limits{1, 2, 3, 4, 5, 6, 7, 32'768, 98'303, 999'999'937};
  for (const auto stored : limits) {
    for (const auto rest : remainders(stored)) {
      for (const auto limit : limits) {
        for (const std::string cost : {"0", "1", "2", "-1", "-2", "-3"}) {
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

// More units than the burst: another call had a larger one.
TEST_CASE("gcra: a large refund gives back exactly as many units") {
  TestServer server;
  ScriptLimiter script(server, gcra());
  const Limit limit{999'999'937, 1'999'999'867us, 9'000'000};
  const std::int64_t rest = 1'000'003;
  for (const std::int64_t refund : {32'769, 7'654'321, 987'654'321, 999'999'999}) {
    CAPTURE(refund);
    const auto parts = Wide{rest + refund} * limit.window.count();
    GcraModel model(
        RationalTime{.parts = to_parts(kNow, limit.limit) + parts, .per_us = limit.limit});
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

TEST_CASE("gcra: script and model agree on random traffic") {
  check_script_against_model(gcra(), 100'000);
}

}  // namespace limiter_gcra_test
