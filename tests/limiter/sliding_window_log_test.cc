// needs: server
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "redis/error.h"
#include "support/limiters.h"
#include "support/properties.h"
#include "support/random.h"

namespace limiter_sliding_window_log_test {

using namespace std::chrono_literals;
using namespace rlctl::test;
using rlctl::Clock;
using std::chrono::milliseconds;

constexpr microseconds kNow{1'700'000'000'000'000};
constexpr const char* kLogs[] = {"sliding-window-log", "sliding-window-zset"};

namespace {

/// Calls of a longer and a shorter window, in random order, on one key of a server on whose TTLs
/// the calls' time passes.
class TwoWindows {
 public:
  TwoWindows(TestServer& server, const Algorithm& log, Random& random, std::string key)
      : server_(server), script_(server, log), random_(random), key_(std::move(key)) {
    shorter_.limit = random_.uniform(1, 10);
    shorter_.window = milliseconds{random_.log_uniform(1'000, 1'000'000)};
    longer_.limit = random_.uniform(1, 20);
    longer_.window = shorter_.window * random_.uniform(2, 1000);
  }

  void run(int calls) {
    for (; calls > 0; --calls) {
      if (random_.percent(40)) pass(random_.log_uniform(1, longer_.window / 1ms));
      if (random_.percent(40)) pass(random_.log_uniform(1, shorter_.window / 1ms));
      const bool is_long = random_.percent(50);
      const auto& limit = is_long ? longer_ : shorter_;
      const auto cost = random_.uniform(1, std::min<std::int64_t>(3, limit.limit));
      const auto command = fmt::format("{} of {} at {} ms", cost,
                                       rlctl::limiter::format_limit(limit), (now_ - kNow) / 1ms);
      CAPTURE(command);
      const bool must_deny = is_long && still_used() + cost > limit.limit;
      const auto decision = script_.ask(key_, limit, cost, now_);
      CHECK_FALSE((must_deny && decision.allowed));
      if (!is_long || !decision.allowed) continue;
      for (auto unit = cost; unit > 0; --unit) units_.push_back(now_);
    }
  }

 private:
  /// The longer window's own units that it still counts in 1.25 of the shorter one.
  std::int64_t still_used() const {
    // The TTLs have lost some real time as well, but no more than this.
    const auto elapsed = std::chrono::ceil<milliseconds>(Clock::now() - began_) + 2ms;
    const auto since = now_ + shorter_.window * 5 / 4 + elapsed - longer_.window;
    return std::count_if(units_.begin(), units_.end(), [&](auto unit) { return unit > since; });
  }

  void pass(std::int64_t ms) {
    now_ += milliseconds{ms};
    const auto left = server_.pttl(key_);
    if (left >= 0) server_.call({"PEXPIRE", key_, std::to_string(left - ms)});
  }

  TestServer& server_;
  ScriptLimiter script_;
  Random& random_;
  std::string key_;
  Limit longer_, shorter_;
  microseconds now_ = kNow;
  Clock::time_point began_ = Clock::now();
  std::vector<microseconds> units_;  ///< the times of the units within the longer window
};

}  // namespace

TEST_CASE(
    "sliding-window-log and -zset: no window exceeds the limit, and nothing is denied without "
    "need") {
  Random random;
  TestServer server;
  for (const auto* name : kLogs) {
    ModelLimiter model(algorithm(name));
    check_is_exact(model, algorithm(name), random, 100);
    ScriptLimiter script(server, algorithm(name));
    (void)server.call({"FLUSHALL"});
    check_is_exact(script, algorithm(name), random, 15);
  }
}

TEST_CASE(
    "sliding-window-log and -zset: a call with a shorter window frees nothing of a longer one") {
  Random random;
  for (const auto* name : kLogs) {
    TestServer server;
    for (int run = 0; run < scaled(40, 400); ++run) {
      TwoWindows(server, algorithm(name), random, "two:" + std::to_string(run)).run(100);
    }
  }
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
