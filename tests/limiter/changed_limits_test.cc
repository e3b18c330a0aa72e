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
