// needs: server
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "support/limiters.h"

namespace limiter_sliding_window_zset_test {

using namespace rlctl::test;
using namespace std::chrono_literals;

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
