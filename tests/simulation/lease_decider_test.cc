// needs: server
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "script/script.h"
#include "simulation/virtual_run.h"
#include "support/deciders.h"
#include "support/foreign_bench.h"
#include "support/limiters.h"
#include "support/random.h"

namespace traffic_lease_decider_test {

using namespace std::chrono_literals;
using namespace rlctl::script;
using namespace rlctl::simulation;
using namespace rlctl::traffic;
using namespace rlctl::test;
using namespace rlctl::test::foreign;
using rlctl::UsageError;
using Random = rlctl::test::Random;

namespace {

constexpr auto kAcquire = Event::kRequest, kRenew = Event::kRenew, kRelease = Event::kRelease;

Arrival event(Event event, std::uint32_t holder, microseconds after) {
  return {.at = kVirtualStart + after, .event = event, .holder = holder};
}

std::vector<Decision> decide(Decider& decider, const std::vector<Arrival>& arrivals) {
  std::vector<Decision> decisions(arrivals.size());
  REQUIRE(decider.decide(arrivals, decisions) == arrivals.size());
  return decisions;
}

/// Removes expired members, then adds one if there is room.
constexpr auto kSortedSet = R"(
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1)";

ForeignLimiter sorted_set() {
  auto acquire =
      limiter(kSortedSet, {"sem:{key}"}, {"{limit}", "{lease_ms}", "{holder}", "{now_ms}"});
  acquire.has_leases = true;
  auto release = limiter("redis.call('ZREM', KEYS[1], ARGV[3]) return redis.status_reply('BYE')",
                         {"sem:{key}"}, {"{limit}", "{lease_ms}", "{holder}", "{now_ms}"});
  release.has_leases = true;
  release.name = "release.lua";
  acquire.ending = std::make_shared<ForeignLimiter>(release);
  return acquire;
}

}  // namespace

TEST_CASE("leases: the script concurrency and its model decide the same events alike") {
  TestServer server;
  const Candidate candidate{&algorithm("concurrency"), {{3, 10s, {}}}};
  const auto script = script_of(candidate);
  ScriptDecider on_server(server.connection(), *script);
  LeaseModelDecider model(candidate.limits.front());
  Random random;
  std::vector<Arrival> arrivals;
  microseconds after{0};
  for (int i = 0; i < 5'000; ++i) {
    after += random.percent(50) ? 0us : microseconds{random.uniform(0, 4'000'000)};
    if (random.percent(10)) after += 10s;
    const auto kind = static_cast<Event>(random.uniform(0, 2));
    auto arrival = event(kind, static_cast<std::uint32_t>(random.uniform(1, 8)), after);
    arrival.key = static_cast<std::uint32_t>(random.uniform(0, 1));
    arrivals.push_back(arrival);
  }
  CHECK(decide(on_server, arrivals) == decide(model, arrivals));
  const auto keys = script->keys();
  CHECK(keys.size() == 2);
  CHECK(keys.front() == "p:1");
}

TEST_CASE("leases: a model that forgot has no leases") {
  LeaseModelDecider model({1, 10s, {}});
  const std::vector<Arrival> two{event(kAcquire, 1, 0s), event(kAcquire, 2, 0s)};
  const auto first = decide(model, two);
  CHECK(first[0].allowed);
  CHECK_FALSE(first[1].allowed);
  model.forget();
  CHECK(decide(model, two) == first);
}

TEST_CASE("leases: a foreign script acquires, another releases, and virtual time ends leases") {
  TestServer server;
  const auto foreign = candidate(sorted_set(), {1, 10s, {}});
  const auto script = script_of(foreign);
  ScriptDecider decider(server.connection(), *script);
  const auto decisions = decide(
      decider, {event(kAcquire, 1, 0s), event(kAcquire, 2, 1s), event(kRelease, 1, 2s),
                event(kAcquire, 2, 2s), event(kAcquire, 3, 12s - 1ms), event(kAcquire, 3, 12s)});
  std::vector<bool> allowed;
  for (const auto& decision : decisions) allowed.push_back(decision.allowed);
  CHECK(allowed == std::vector{true, false, true, true, false, true});
  CHECK(script->keys() == std::vector<std::string>{"p:sem:1"});
}

TEST_CASE("leases: without a script that releases, the script is told the event") {
  Bench bench;
  auto all = limiter("redis.call('RPUSH', KEYS[1], table.concat(ARGV, ' ')) return 1", {"{key}"},
                     {"{event}", "{holder}", "{lease}"});
  all.has_leases = true;
  const auto foreign = candidate(all, {1, 1500ms, {}});
  const auto script = script_of(foreign);
  ScriptDecider decider(bench.server.connection(), *script);
  static_cast<void>(
      decide(decider, {event(kAcquire, 7, 0s), event(kRenew, 7, 1s), event(kRelease, 7, 2s)}));
  CHECK(bench.list("p:1") ==
        std::vector<std::string>{"acquire h7 1.5", "renew h7 1.5", "release h7 1.5"});
}

TEST_CASE("leases: an error of the releasing script names its file and line") {
  TestServer server;
  auto wrong = sorted_set();
  auto release = *wrong.ending;
  release.source = "\nreturn redis.call('INCR', KEYS[1])";
  wrong.ending = std::make_shared<ForeignLimiter>(release);
  const auto foreign = candidate(wrong, {1, 10s, {}});
  const auto script = script_of(foreign);
  ScriptDecider decider(server.connection(), *script);
  const std::vector<Arrival> arrivals{event(kAcquire, 1, 0s), event(kRelease, 1, 1s)};
  std::vector<Decision> decisions(arrivals.size());
  const auto error = support::error_of([&] { decider.decide(arrivals, decisions); });
  CAPTURE(error.what());
  CHECK(std::string_view(error.what()).starts_with("release.lua:2: WRONGTYPE"));
}

TEST_CASE("leases: placeholders of windows are refused, and those of leases without any") {
  auto script = limiter("return 1", {"{key}"}, {"{lease_ms}"});
  CHECK_THROWS_WITH_AS(require_usable(script, {5, 30s, {}}),
                       "args: {lease_ms} is about a lease; it requires --concurrency", UsageError);
  script.has_leases = true;
  CHECK_NOTHROW(require_usable(script, {5, 30s, {}}));
  CHECK_THROWS_WITH_AS(
      require_usable(script, {5, 1500us, {}}),
      "args: a lease of 1500us is not a whole number for {lease_ms}; write {lease} or {lease_us}",
      UsageError);
  for (const auto* window : {"{window_ms}", "{cutoff}", "{burst}", "{window_index}"}) {
    auto wrong = limiter("return 1", {"{key}"}, {window});
    wrong.has_leases = true;
    CHECK_THROWS_AS(require_usable(wrong, {5, 30s, {}}), UsageError);
  }
}

}  // namespace traffic_lease_decider_test
