#include "support/log_tests.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "support/properties.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;
using limiter::kNever;
using std::chrono::milliseconds;

constexpr microseconds kNow{1'700'000'000'000'000};

void check_window_slides(Limiter& log) {
  const Limit limit{2, 60s, {}};
  CHECK(log.ask("slides", limit, 1, kNow) == Decision{true, 1, 0us, 60s, 0us, 0});
  CHECK(log.ask("slides", limit, 1, kNow + 10s) == Decision{true, 0, 0us, 60s, 0us, 0});
  CHECK(log.ask("slides", limit, 1, kNow + 20s) == Decision{false, 0, 40s, 50s, 0us, 1});
  CHECK(log.ask("slides", limit, 2, kNow + 20s) == Decision{false, 0, 50s, 50s, 0us, 1});
  CHECK(log.ask("slides", limit, 3, kNow + 20s) == Decision{false, 0, kNever, 50s, 0us, 1});
  CHECK(log.ask("slides", limit, 1, kNow + 60s - 1us) ==
        Decision{false, 0, 1us, 10'000'001us, 0us, 1});
  CHECK(log.ask("slides", limit, 1, kNow + 60s) == Decision{true, 0, 0us, 60s, 0us, 0});
}

void check_same_instant_counts(Limiter& log) {
  const Limit limit{5, 60s, {}};
  for (int i = 0; i < 5; ++i) CHECK(log.ask("same", limit, 1, kNow).remaining == 4 - i);
  CHECK(log.ask("same", limit, 1, kNow) == Decision{false, 0, 60s, 60s, 0us, 1});
}

void check_clock_steps_back(Limiter& log) {
  const Limit limit{2, 60s, {}};
  CHECK(log.ask("back", limit, 1, kNow).allowed);
  CHECK(log.ask("back", limit, 1, kNow - 30s) == Decision{true, 0, 0us, 90s, 0us, 0});
  CHECK(log.ask("back", limit, 1, kNow - 30s) == Decision{false, 0, 90s, 90s, 0us, 1});
}

void check_refund_drops_the_oldest(Limiter& log) {
  const Limit limit{3, 60s, {}};
  CHECK(log.ask("refund", limit, 1, kNow).allowed);
  CHECK(log.ask("refund", limit, 2, kNow + 10s).allowed);
  CHECK(log.ask("refund", limit, -1, kNow + 20s) == Decision{true, 1, 0us, 50s, 0us, 0});
  CHECK(log.ask("refund", limit, 2, kNow + 20s) == Decision{false, 1, 50s, 50s, 0us, 1});
  CHECK(log.ask("refund", limit, -9, kNow + 20s) == Decision{true, 3, 0us, 0us, 0us, 0});
}

void check_changed_window(Limiter& log) {
  CHECK(log.ask("changed", {5, 60s, {}}, 3, kNow).allowed);
  CHECK(log.ask("changed", {5, 60s, {}}, 1, kNow + 30s).allowed);
  CHECK(log.ask("changed", {5, 10s, {}}, 0, kNow + 35s) == Decision{true, 4, 0us, 5s, 0us, 0});
  CHECK(log.ask("changed", {3, 60s, {}}, 1, kNow + 35s) == Decision{false, 0, 25s, 55s, 0us, 1});
}

void check_shorter_window_frees_nothing(Limiter& log) {
  const Limit hour{5, 3600s, {}}, second{5, 1s, {}};
  CHECK(log.ask("typo", hour, 5, kNow) == Decision{true, 0, 0us, 3600s, 0us, 0});
  CHECK(log.ask("typo", second, 1, kNow + 10s) == Decision{true, 4, 0us, 1s, 0us, 0});
  CHECK(log.ask("typo", hour, 1, kNow + 10s) == Decision{false, 0, 3590s, 3600s, 0us, 1});
  CHECK(log.ask("typo", second, 5, kNow + 20s) == Decision{true, 0, 0us, 1s, 0us, 0});
  CHECK(log.ask("typo", hour, 1, kNow + 20s) == Decision{false, 0, 3600s, 3600s, 0us, 1});
}

/// The TTL of a longer window goes with the last unit, so that a shorter one prunes all that has
/// gone.
void check_refund_of_all_ends_the_ttl(Limiter& log) {
  const Limit lasting{5, 100s, {}}, brief{5, 1s, {}};
  CHECK(log.ask("ended", lasting, 1, kNow).allowed);
  CHECK(log.ask("ended", lasting, -1, kNow).remaining == 5);
  CHECK(log.ask("ended", brief, 2, kNow + 1s).allowed);
  CHECK(log.ask("ended", brief, 1, kNow + 2200ms).allowed);
  CHECK(log.ask("ended", lasting, 0, kNow + 2200ms).remaining == 4);
}

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
      const auto command =
          fmt::format("{} of {} at {} ms", cost, limiter::format_limit(limit), (now_ - kNow) / 1ms);
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
  std::vector<microseconds> units_;  ///< of the longer window
};

}  // namespace

void check_log_of_two_windows(const Algorithm& log) {
  Random random;
  TestServer server;
  for (int run = 0; run < scaled(40, 400); ++run) {
    TwoWindows(server, log, random, "two:" + std::to_string(run)).run(100);
  }
}

void check_log_by_hand(const Algorithm& log) {
  ModelLimiter model(log);
  TestServer server;
  ScriptLimiter script(server, log);
  for (Limiter* limiter : {static_cast<Limiter*>(&model), static_cast<Limiter*>(&script)}) {
    check_window_slides(*limiter);
    check_same_instant_counts(*limiter);
    check_clock_steps_back(*limiter);
    check_refund_drops_the_oldest(*limiter);
    check_changed_window(*limiter);
    check_shorter_window_frees_nothing(*limiter);
    check_refund_of_all_ends_the_ttl(*limiter);
  }
}

void check_log_is_exact(const Algorithm& log) {
  Random random;
  ModelLimiter model(log);
  check_is_exact(model, log, random, 100);
  TestServer server;
  ScriptLimiter script(server, log);
  check_is_exact(script, log, random, 15);
}

}  // namespace rlctl::test
