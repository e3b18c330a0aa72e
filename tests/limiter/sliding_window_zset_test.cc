// needs: server
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "support/log_tests.h"
#include "support/schedule.h"

namespace limiter_sliding_window_zset_test {

using namespace rlctl::test;
using namespace std::chrono_literals;

TEST_CASE("sliding-window-zset: the sequence continues within one microsecond and then restarts") {
  TestServer server;
  ScriptLimiter script(server, algorithm("sliding-window-zset"));
  const Limit limit{9, 1s, {}};
  const auto ask = [&](std::int64_t cost, std::int64_t now) {
    REQUIRE(script.ask("k", limit, cost, microseconds{now}).allowed);
  };
  const auto members = [&] {
    std::string all;
    const auto reply = server.call({"ZRANGE", "k", "0", "-1"});
    for (std::size_t i = 0; i < reply.size(); ++i) all += std::string(reply[i].text()) + " ";
    return all;
  };
  ask(2, 1'000);
  ask(1, 1'000);
  CHECK(members() == "1000:0000000000 1000:0000000001 1000:0000000002 ");
  // A refund removes the oldest: numbering by the count of entries would repeat a number.
  ask(-2, 1'000);
  ask(1, 1'000);
  CHECK(members() == "1000:0000000002 1000:0000000003 ");
  // A clock that has stepped back writes at the newest unit's time.
  ask(1, 900);
  ask(2, 1'001);
  CHECK(members() ==
        "1000:0000000002 1000:0000000003 1000:0000000004 1001:0000000000 1001:0000000001 ");
}

// A longer TTL would mean that a longer window shares the key, and units that have left would be
// kept for it.
TEST_CASE("sliding-window-zset: the TTL stays if it suffices, also if all units have left") {
  TestServer server;
  ScriptLimiter script(server, algorithm("sliding-window-zset"));
  constexpr microseconds kNow{1'700'000'000'000'000};
  REQUIRE(script.ask("k", {1, 3'600s, {}}, 1, kNow).allowed);
  const auto ttl = server.pttl("k");
  REQUIRE(script.ask("k", {1, 4'230s, {}}, 1, kNow + 6'000s).allowed);
  CHECK(server.pttl("k") <= ttl);
  CHECK(server.call({"ZCARD", "k"}).integer() == 1);
}

TEST_CASE("sliding-window-zset: a sequence has ten digits, at the latest time too") {
  TestServer server;
  ScriptLimiter script(server, algorithm("sliding-window-zset"));
  const microseconds last{4'000'000'000'000'000};
  (void)server.call({"ZADD", "k", "4000000000000000", "4000000000000000:1234567890"});
  CHECK(script.ask("k", {5, 1s, {}}, 1, last).remaining == 3);
  CHECK(server.call({"ZRANGE", "k", "-1", "-1"})[0].text() == "4000000000000000:1234567891");
}

}  // namespace limiter_sliding_window_zset_test
