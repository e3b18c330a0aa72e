// needs: server
// What rlctl-scripts(7) says in Changed arguments: limits that change from one call to the next.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/limiters.h"
#include "support/properties.h"
#include "support/random.h"

namespace limiter_changed_limits_test {

using namespace std::chrono_literals;
using namespace rlctl::limiter;
using namespace rlctl::test;
using rlctl::Wide;

namespace {

constexpr microseconds kNow{1'795'000'000'000'000};
constexpr const char* kBuckets[] = {"gcra", "token-bucket"};
constexpr const char* kWindows[] = {"fixed-window", "sliding-window-counter", "budget"};

/// Checks what it says of an algorithm's model, and of its script.
template <typename Check>
void check_both(const char* name, const Check& check) {
  CAPTURE(name);
  ModelLimiter model(algorithm(name));
  check(model);
  TestServer server;
  ScriptLimiter script(server, algorithm(name));
  check(script);
}

}  // namespace

TEST_CASE("a bucket whose limit is raised allows at once what the new one has room for") {
  const Limit low{10, 20s, 16}, high{1000, 20s, 16};
  for (const auto* name : kBuckets) {
    check_both(name, [&](Limiter& limiter) {
      for (int i = 0; i < 6; ++i) CHECK(limiter.ask("k", low, 1, kNow).allowed);
      CHECK(limiter.ask("k", high, 0, kNow) == Decision{true, 10, 0us, 12s, 0us, 0});
      CHECK(limiter.ask("k", high, 1, kNow) == Decision{true, 9, 0us, 140ms, 0us, 0});
    });
  }
}

TEST_CASE(
    "a bucket whose limit is lowered stays used, and recovers at the rate that was paid for") {
  const Limit high{10, 20s, 16}, low{10, 2000s, 16};
  for (const auto* name : kBuckets) {
    check_both(name, [&](Limiter& limiter) {
      CHECK(limiter.ask("k", high, 16, kNow) == Decision{true, 0, 0us, 32s, 0us, 0});
      CHECK(limiter.ask("k", low, 15, kNow) == Decision{false, 0, 30s, 32s, 0us, 1});
      CHECK(limiter.ask("k", low, 1, kNow) == Decision{false, 0, 2s, 32s, 0us, 1});
      CHECK(limiter.ask("k", low, 0, kNow) == Decision{true, 0, 0us, 32s, 0us, 0});
      CHECK_FALSE(limiter.ask("k", low, 1, kNow + 2s - 1us).allowed);
      CHECK(limiter.ask("k", low, 1, kNow + 2s) == Decision{true, 0, 0us, 3200s, 0us, 0});
    });
  }
}

TEST_CASE("a bucket whose limit changes there and back at one time frees nothing") {
  for (const auto* name : kBuckets) {
    check_both(name, [&](Limiter& limiter) {
      const Limit one{7, 3s, 20}, other{1000, 11s, 30}, third{7, 3s, 19};
      CHECK(limiter.ask("k", one, 5, kNow).remaining == 15);
      // Part of a unit has come back, which is what a written change costs.
      CHECK(limiter.ask("k", other, 1, kNow + 1us).remaining == 24);
      CHECK(limiter.ask("k", one, 1, kNow + 1us) == Decision{true, 13, 0us, 3s, 0us, 0});
      CHECK(limiter.ask("k", third, 1, kNow + 1us).remaining == 11);
      CHECK(limiter.ask("k", one, 11, kNow + 1us).remaining == 1);
      CHECK_FALSE(limiter.ask("k", one, 2, kNow + 1us).allowed);
    });
  }
}

TEST_CASE("a refund with another limit gives units back and leaves the stored rate") {
  const Limit slow{10, 20s, 16}, fast{1000, 20s, 16};
  for (const auto* name : kBuckets) {
    check_both(name, [&](Limiter& limiter) {
      CHECK(limiter.ask("k", slow, 10, kNow).remaining == 6);
      CHECK(limiter.ask("k", fast, -4, kNow) == Decision{true, 10, 0us, 12s, 0us, 0});
      CHECK(limiter.ask("k", slow, 0, kNow) == Decision{true, 10, 0us, 12s, 0us, 0});
      CHECK(limiter.ask("k", fast, -9, kNow) == Decision{true, 16, 0us, 0us, 0us, 0});
    });
  }
}

TEST_CASE("of several keys, one that denies leaves the stored rate of the others") {
  const Limit slow{10, 20s, 16}, fast{1000, 20s, 16}, one{1, 1s, {}};
  for (const auto* name : kBuckets) {
    check_both(name, [&](Limiter& limiter) {
      CHECK(limiter.ask("a", slow, 10, kNow).allowed);
      CHECK(limiter.ask("b", one, 1, kNow).allowed);
      CHECK(limiter.ask(Request{{"a", "b"}, {fast, one}, 1, kNow}) ==
            Decision{false, 0, 1s, 20s, 0us, 2});
      CHECK(limiter.ask(Request{{"a", "b"}, {fast, one}, 1, kNow + 1s}) ==
            Decision{true, 0, 0us, 1s, 0us, 0});
      CHECK(limiter.ask("a", fast, 0, kNow + 1s) == Decision{true, 5, 0us, 220ms, 0us, 0});
    });
  }
}

namespace {

/// An allowed request.
struct Taken {
  std::int64_t at = 0, units = 0;
};

/// Whether no span has more units than the largest burst, and the highest rate in that time.
void check_bound(const std::vector<Taken>& taken, const std::vector<Limit>& limits) {
  std::int64_t burst = 0;
  auto fastest = limits.front();
  for (const auto& limit : limits) {
    burst = std::max(burst, limit.burst_or_limit());
    if (Wide{limit.limit} * fastest.window.count() > Wide{fastest.limit} * limit.window.count()) {
      fastest = limit;
    }
  }
  for (std::size_t first = 0; first < taken.size(); ++first) {
    Wide units = 0;
    for (std::size_t last = first; last < taken.size(); ++last) {
      units += taken[last].units;
      const Wide span = taken[last].at - taken[first].at;
      const bool is_within = (units - burst) * fastest.window.count() <= span * fastest.limit;
      if (!is_within) FAIL("too many units");
    }
  }
}

std::vector<Limit> some_limits(Random& random) {
  std::vector<Limit> limits;
  for (auto left = random.uniform(2, 3); left > 0; --left) {
    limits.push_back({random.log_uniform(1, 100),
                      microseconds{random.log_uniform(kShortestWindow.count(), 100'000'000)},
                      random.log_uniform(1, 100)});
    if (random.percent(20)) limits.back().burst = limits.front().burst;
    if (random.percent(20)) limits.back().window = limits.front().window;
  }
  return limits;
}

/// Asks with limits that alternate, and checks that no span has too many units, that a denial says
/// to the microsecond when it ends, and that no wait is longer than until all was free before.
void check_alternating(Limiter& limiter, Random& random, int runs) {
  for (int run = 0; run < runs; ++run) {
    const auto key = "alternating:" + std::to_string(run);
    const auto limits = some_limits(random);
    std::vector<Taken> taken;
    auto now = kNow;
    microseconds free_at{0};
    for (int i = 0; i < 200; ++i) {
      const auto& limit = random.one_of(limits);
      const auto cost =
          random.percent(70) ? 1 : random.uniform(0, std::min<std::int64_t>(*limit.burst, 9));
      const auto decision = limiter.ask(key, limit, cost, now);
      if (decision.allowed && cost > 0) {
        taken.push_back({now.count(), cost});
        free_at = now + decision.reset_after;
      } else {
        REQUIRE(now + decision.reset_after <= std::max(now, free_at));
        REQUIRE(decision.retry_after <= decision.reset_after);
      }
      if (!decision.allowed) {
        REQUIRE_FALSE(limiter.ask(key, limit, cost, now + decision.retry_after - 1us).allowed);
        if (random.percent(50)) {
          now += decision.retry_after;
          const auto again = limiter.ask(key, limit, cost, now);
          REQUIRE(again.allowed);
          taken.push_back({now.count(), cost});
          free_at = now + again.reset_after;
        }
      }
      const auto unit = limit.window.count() / limit.limit;
      if (random.percent(60)) now += microseconds{random.uniform(0, 2 * unit + 1)};
      if (random.percent(2)) now += decision.reset_after;
    }
    check_bound(taken, limits);
  }
}

}  // namespace

TEST_CASE("a longer window extends the one in force, and its count stays") {
  const Limit seconds{10, 20s, {}}, hour{1000, 1h, {}};  // the hour began 400 s ago
  for (const auto* name : kWindows) {
    check_both(name, [&](Limiter& limiter) {
      CHECK(limiter.ask("k", seconds, 1, kNow).reset_after ==
            (name == kWindows[1] ? microseconds{40s} : microseconds{20s}));
      CHECK(limiter.ask("k", hour, 0, kNow).remaining == 999);
      CHECK(limiter.ask("k", hour, 999, kNow).allowed);
      CHECK_FALSE(limiter.ask("k", hour, 900, kNow + 41s).allowed);
      CHECK_FALSE(limiter.ask("k", seconds, 1, kNow + 3200s - 1us).allowed);
    });
  }
  check_both("fixed-window", [&](Limiter& limiter) {
    CHECK(limiter.ask("k", seconds, 3, kNow) == Decision{true, 7, 0us, 20s, 0us, 0});
    CHECK(limiter.ask("k", hour, 1, kNow) == Decision{true, 996, 0us, 3200s, 0us, 0});
    CHECK(limiter.ask("k", seconds, 7, kNow + 41s) == Decision{false, 6, 3159s, 3159s, 0us, 1});
    CHECK(limiter.ask("k", seconds, 7, kNow + 3200s) == Decision{true, 3, 0us, 20s, 0us, 0});
  });
  check_both("sliding-window-counter", [&](Limiter& limiter) {
    CHECK(limiter.ask("k", seconds, 3, kNow - 10s).allowed);
    CHECK(limiter.ask("k", seconds, 4, kNow + 5s).remaining == 3);  // 2.25 of the 3 count
    CHECK(limiter.ask("k", hour, 0, kNow + 5s).remaining == 993);
    CHECK(limiter.ask("k", hour, 1, kNow + 5s) == Decision{true, 992, 0us, 6795s, 0us, 0});
  });
}

TEST_CASE("a shorter window begins when the one in force has ended, also while requests come") {
  const Limit hour{10, 1h, {}}, seconds{10, 20s, {}};  // the hour began 400 s ago
  const auto end = kNow + 3200s;
  for (const auto* name : kWindows) {
    check_both(name, [&](Limiter& limiter) {
      CHECK(limiter.ask("k", hour, 10, kNow).allowed);
      CHECK_FALSE(limiter.ask("k", seconds, 1, end - 1us).allowed);
      if (name != kWindows[1]) {
        CHECK(limiter.ask("k", seconds, 10, end) == Decision{true, 0, 0us, 20s, 0us, 0});
        return;
      }
      CHECK(limiter.ask("k", seconds, 1, end) == Decision{false, 0, 360s, 3600s, 0us, 1});
    });
  }
  check_both(kWindows[1], [&](Limiter& limiter) {
    CHECK(limiter.ask("k", hour, 10, kNow).allowed);
    // 5.5 of the 10 count, as 6, in the 20 seconds that begin.
    CHECK(limiter.ask("k", seconds, 2, end + 1620s) == Decision{true, 2, 0us, 40s, 0us, 0});
    CHECK(limiter.ask("k", seconds, 0, end + 1630s).remaining == 2);
    CHECK(limiter.ask("k", seconds, 3, end + 1650s) == Decision{true, 3, 0us, 30s, 0us, 0});
    CHECK(limiter.ask("k", hour, 0, end + 1650s) == Decision{true, 0, 0us, 30s, 0us, 0});
  });
  check_both(kWindows[1], [&](Limiter& limiter) {
    // 1 + 2e-14 of the 3 count, which the sum with 300 rounds to 301.
    CHECK(limiter.ask("k", {301, 100'000'000s, {}}, 3, 1'700'000'000s).allowed);
    const auto later = 1'866'666'666'666'666us;
    CHECK(limiter.ask("k", {301, 1ms, {}}, 300, later).allowed);
    CHECK(limiter.ask("k", {302, 1ms, {}}, 0, later).remaining == 1);
  });
  check_both(kWindows[1], [&](Limiter& limiter) {
    // 4 + 5e-14 of the 5 count, as 5, although the sum with a large limit rounds to 4.
    CHECK(limiter.ask("k", {5, 100'000'000s, {}}, 5, 3'096'679'561s).allowed);
    const auto later = 3'119'999'999'999'999us;
    CHECK(limiter.ask("k", {3'370'201, 47'211'195us, {}}, 0, later).remaining == 3'370'196);
    CHECK(limiter.ask("k", {3'370'201, 47'211'195us, {}}, 1, later).remaining == 3'370'195);
  });
}

TEST_CASE("a longer window that ends with the one in force does not replace it") {
  const Limit seconds{10, 20s, {}}, hour{10, 1h, {}};
  const auto end = kNow + 3200s;  // of the hour
  check_both("sliding-window-counter", [&](Limiter& limiter) {
    CHECK(limiter.ask("k", seconds, 10, end - 30s).allowed);
    CHECK(limiter.ask("k", hour, 0, end - 10s).remaining == 5);  // half of 10 count
  });
}

TEST_CASE("a longer window that denies does not extend the one in force, and nor does a refund") {
  const Limit seconds{10, 20s, {}}, hour{5, 1h, {}};
  for (const auto* name : {"fixed-window", "budget"}) {
    check_both(name, [&](Limiter& limiter) {
      CHECK(limiter.ask("k", seconds, 10, kNow).allowed);
      CHECK(limiter.ask("k", hour, 1, kNow) == Decision{false, 0, 20s, 20s, 0us, 1});
      CHECK(limiter.ask("k", hour, -2, kNow) == Decision{true, 0, 0us, 20s, 0us, 0});
      CHECK(limiter.ask("k", hour, 0, kNow) == Decision{true, 0, 0us, 20s, 0us, 0});
      CHECK(limiter.ask("k", hour, 1, kNow + 20s) == Decision{true, 4, 0us, 3180s, 0us, 0});
    });
  }
  check_both("sliding-window-counter", [&](Limiter& limiter) {
    CHECK(limiter.ask("k", seconds, 10, kNow).allowed);
    CHECK(limiter.ask("k", hour, 1, kNow) == Decision{false, 0, 40s, 40s, 0us, 1});
    CHECK(limiter.ask("k", hour, -6, kNow) == Decision{true, 1, 0us, 40s, 0us, 0});
    CHECK(limiter.ask("k", hour, 2, kNow) == Decision{false, 1, 40s, 40s, 0us, 1});
    CHECK(limiter.ask("k", hour, -1, kNow + 25s) == Decision{true, 1, 0us, 15s, 0us, 0});
    CHECK(limiter.ask("k", seconds, 0, kNow + 30s).remaining == 8);  // half of 4 count
  });
}

namespace {

/// The windows in force, as the manual says that they follow each other, and what each holds.
class InForce {
 public:
  InForce(bool carries, std::int64_t most) : carries_(carries), most_(most) {}

  void take(const Limit& limit, std::int64_t units, std::int64_t at) {
    const auto window = limit.window.count();
    const auto end = (at / window + 1) * window;
    const bool carries = carries_ && at < end_ + window_;
    if (at >= end_ && carries && (window == window_ || end > end_ + window_)) {
      before_ = units_;
      units_ = 0;
      end_ += window_;
    } else if (at >= end_) {  // of what a shorter window takes over, the estimate is not repeated
      before_ = units_ = 0;
      end_ = end;
      window_ = window;
    }
    if (end > end_) {
      units_ += before_;
      before_ = 0;
      end_ = end;
      window_ = window;
    }
    units_ += units;
    REQUIRE(units_ <= most_);
  }
  std::int64_t free_at() const { return carries_ ? end_ + window_ : end_; }

 private:
  bool carries_;
  std::int64_t most_;
  std::int64_t end_ = 0, window_ = 0, units_ = 0, before_ = 0;
};

void check_alternating_windows(Limiter& limiter, bool carries, Random& random, int runs) {
  for (int run = 0; run < runs; ++run) {
    const auto key = "alternating:" + std::to_string(run);
    auto limits = some_limits(random);
    std::int64_t most = 0;
    for (auto& limit : limits) {
      limit.burst.reset();
      most = std::max(most, limit.limit);
    }
    InForce in_force(carries, most);
    auto now = kNow;
    for (int i = 0; i < 200; ++i) {
      const auto& limit = random.one_of(limits);
      const auto cost =
          random.percent(70) ? 1 : random.uniform(0, std::min<std::int64_t>(limit.limit, 9));
      auto decision = limiter.ask(key, limit, cost, now);
      if (!decision.allowed) {
        REQUIRE((now + decision.retry_after).count() <= in_force.free_at());
        REQUIRE_FALSE(limiter.ask(key, limit, cost, now + decision.retry_after - 1us).allowed);
        if (random.percent(50)) {
          now += decision.retry_after;
          decision = limiter.ask(key, limit, cost, now);
          REQUIRE(decision.allowed);
        }
      }
      if (decision.allowed && cost > 0) in_force.take(limit, cost, now.count());
      REQUIRE((now + decision.reset_after).count() <= std::max(now.count(), in_force.free_at()));
      const auto window = limit.window.count();
      if (random.percent(60)) now += microseconds{random.uniform(0, 2 * window / limit.limit + 1)};
      if (random.percent(10)) now += microseconds{random.uniform(0, window)};
    }
  }
}

}  // namespace

TEST_CASE("windows that alternate hold no more than the largest limit for as long as one lasts") {
  Random random;
  for (const auto* name : kWindows) {
    CAPTURE(name);
    const bool carries = name == kWindows[1];
    ModelLimiter model(algorithm(name));
    check_alternating_windows(model, carries, random, 100);
    TestServer server;
    ScriptLimiter script(server, algorithm(name));
    check_alternating_windows(script, carries, random, 10);
  }
}

TEST_CASE("buckets whose limits alternate allow no more than the largest burst and highest rate") {
  Random random;
  for (const auto* name : kBuckets) {
    CAPTURE(name);
    ModelLimiter model(algorithm(name));
    check_alternating(model, random, 50);
    TestServer server;
    ScriptLimiter script(server, algorithm(name));
    check_alternating(script, random, 10);
  }
}

}  // namespace limiter_changed_limits_test
