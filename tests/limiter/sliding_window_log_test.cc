// needs: server
#include <doctest/doctest.h>

#include "redis/error.h"
#include "support/limiters.h"
#include "support/log_tests.h"
#include "support/schedule.h"

namespace limiter_sliding_window_log_test {

using namespace rlctl::test;

constexpr const char* kLogs[] = {"sliding-window-log", "sliding-window-zset"};

TEST_CASE("sliding-window-log and -zset: an exact log, case by case") {
  for (const auto* name : kLogs) check_log_by_hand(algorithm(name));
}

TEST_CASE(
    "sliding-window-log and -zset: no window exceeds the limit, and nothing is denied without "
    "need") {
  for (const auto* name : kLogs) check_log_is_exact(algorithm(name));
}

TEST_CASE(
    "sliding-window-log and -zset: a call with a shorter window frees nothing of a longer one") {
  for (const auto* name : kLogs) check_log_of_two_windows(algorithm(name));
}

TEST_CASE("sliding-window-log and -zset: script and model agree on random traffic") {
  for (const auto* name : kLogs) check_script_against_model(algorithm(name));
}

TEST_CASE("sliding-window-log: units of the first and of the latest time are read") {
  TestServer server;
  ScriptLimiter script(server, algorithm("sliding-window-log"));
  const microseconds last{4'000'000'000'000'000};
  (void)server.call({"RPUSH", "k", "0", "4000000000000000"});
  (void)server.call({"PEXPIRE", "k", "100000"});
  CHECK(script.ask("k", {5, std::chrono::seconds{1}, {}}, 1, last).remaining == 3);
}

TEST_CASE("sliding-window-log: only early times without a TTL are another program's") {
  TestServer server;
  ScriptLimiter script(server, algorithm("sliding-window-log"));
  const auto accepts = [&](const std::string& time, std::int64_t now, bool expires) {
    (void)server.call({"DEL", "k"});
    (void)server.call({"RPUSH", "k", time});
    if (expires) (void)server.call({"PEXPIRE", "k", "100000"});
    try {
      (void)script.ask("k", {5, std::chrono::seconds{1}, {}}, 0, microseconds{now});
      return true;
    } catch (const rlctl::redis::Error& error) {
      CHECK(error.code() == "WRONGTYPE");
      return false;
    }
  };
  constexpr std::int64_t kEarly = 1'000'000'000'000'000;
  CHECK_FALSE(accepts("999999999999999", kEarly, false));
  CHECK(accepts("1000000000000000", kEarly, false));
  CHECK(accepts("999999999999999", kEarly - 1, false));
  CHECK(accepts("999999999999999", kEarly, true));
  CHECK_FALSE(accepts("-1", kEarly, true));
}

}  // namespace limiter_sliding_window_log_test
