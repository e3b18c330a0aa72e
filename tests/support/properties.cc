#include "support/properties.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "limiter/limit.h"
#include "support/schedule.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;

constexpr microseconds kToday{1'700'000'000'123'457};

/// An answered request, to be counted over a span.
struct Seen {
  microseconds at;
  std::int64_t cost = 1;
  bool allowed = false;
};

/// Time only advances, no refunds, one key: traffic for which the correct result can be computed.
std::vector<Seen> ask_in_order(Limiter& limiter, const std::string& key, const Limit& limit,
                               Random& random, int requests) {
  std::vector<Seen> traffic;
  microseconds now = kToday + microseconds{random.uniform(0, 1'000'000)};
  const auto window = limit.window.count();
  Decision last;
  for (int i = 0; i < requests; ++i) {
    const auto kind = random.uniform(1, 100);
    if (kind > 50 && kind <= 80) now += microseconds{random.uniform(0, 2 * window / limit.limit)};
    if (kind > 80 && kind <= 85) now += microseconds{random.uniform(0, window)};
    if (kind > 85) now += std::max(0us, last.retry_after + microseconds{random.uniform(-1, 1)});
    const auto cost =
        random.percent(70) ? 1 : random.uniform(1, std::min<std::int64_t>(limit.limit, 9));
    last = limiter.ask(key, limit, cost, now);
    traffic.push_back({now, cost, last.allowed});
  }
  return traffic;
}

/// Units allowed before request `i`, within `span` of it, exclusive.
std::int64_t units_within(const std::vector<Seen>& traffic, std::size_t i, microseconds span) {
  std::int64_t units = 0;
  for (std::size_t j = i; j-- > 0;) {
    if (traffic[i].at - traffic[j].at >= span) break;
    if (traffic[j].allowed) units += traffic[j].cost;
  }
  return units;
}

Limit small_limit(const Algorithm& algorithm, Random& random) {
  Limit limit = make_limit(algorithm, random);
  limit.limit = random.log_uniform(1, 100);
  limit.window = microseconds{random.log_uniform(limiter::kShortestWindow.count(), 100'000'000)};
  if (limit.burst) limit.burst = random.log_uniform(1, 200);
  return limit;
}

}  // namespace

std::int64_t capacity(const Algorithm& algorithm, const Limit& limit) {
  const auto burst = limit.burst_or_limit();
  return algorithm.name == "leaky-bucket" ? burst + 1 : burst;  // one leaves at once
}

void check_capacity_at_one_instant(Limiter& limiter, const Algorithm& algorithm, const Limit& limit,
                                   std::int64_t singly) {
  const std::string key = "capacity:" + limiter::format_limit(limit);
  const auto all = capacity(algorithm, limit);
  CAPTURE(algorithm.name);
  CAPTURE(key);
  std::int64_t taken = 0;
  while (all - taken > singly) {
    const auto cost =
        std::min({algorithm.max_cost, std::int64_t{10'000}, all - taken - singly / 2});
    REQUIRE(limiter.ask(key, limit, cost, kToday).allowed);
    taken += cost;
  }
  for (; taken < all; ++taken) {
    const Decision decision = limiter.ask(key, limit, 1, kToday);
    if (decision.allowed && decision.remaining == all - taken - 1) continue;
    FAIL("after ", taken, " of ", all, ": ", to_text(decision));
  }
  const Decision denied = limiter.ask(key, limit, 1, kToday);
  CHECK_FALSE(denied.allowed);
  CHECK(denied.retry_after > 0us);
  CHECK(denied.retry_after <= 2 * limit.window);
}

void check_retry_after(Limiter& limiter, const Algorithm& algorithm, Random& random,
                       std::int64_t requests) {
  CAPTURE(algorithm.name);
  std::int64_t promises = 0;
  for (int run = 0; promises < requests; ++run) {
    for (Request request : make_schedule(algorithm, random)) {
      for (auto& key : request.keys) key += ":retry" + std::to_string(run);
      const Decision decision = limiter.ask(request);
      const auto then = *request.now + decision.retry_after;
      if (decision.allowed || decision.retry_after == limiter::kNever || then > limiter::kLatestNow)
        continue;
      // A second key that allows now may deny later: one that knows the ID may forget it, and one
      // of sliding-window-counter counts all units once the window of the call would end later.
      const bool may_deny_later = request.reservation || algorithm.name == "sliding-window-counter";
      if (may_deny_later && request.keys.size() > 1) continue;
      const auto command = to_command(algorithm, request);
      CAPTURE(command);
      CAPTURE(decision);
      REQUIRE(decision.retry_after > 0us);
      request.now = then - 1us;
      const Decision before = limiter.ask(request);
      REQUIRE_FALSE(before.allowed);
      REQUIRE(before.retry_after == 1us);
      request.now = then;
      REQUIRE(limiter.ask(request).allowed);
      ++promises;
    }
  }
}

void check_reset_after(Limiter& limiter, const Algorithm& algorithm, Random& random,
                       std::int64_t requests) {
  CAPTURE(algorithm.name);
  std::int64_t promises = 0;
  for (int run = 0; promises < requests; ++run) {
    for (Request request : make_schedule(algorithm, random)) {
      for (auto& key : request.keys) key += ":reset" + std::to_string(run);
      const Decision decision = limiter.ask(request);
      const auto then = *request.now + decision.reset_after;
      if (decision.reset_after == 0us || then > limiter::kLatestNow) continue;
      const auto command = to_command(algorithm, request);
      CAPTURE(command);
      CAPTURE(decision);
      request.cost = 0;
      request.reservation.reset();
      request.now = then - 1us;
      REQUIRE(limiter.ask(request).reset_after == 1us);
      request.now = then;
      const Decision unused = limiter.ask(request);
      REQUIRE(unused.reset_after == 0us);
      std::int64_t least = INT64_MAX;
      for (const Limit& limit : request.limits) least = std::min(least, capacity(algorithm, limit));
      REQUIRE(unused.remaining == least);
      ++promises;
    }
  }
}

void check_is_exact(Limiter& limiter, const Algorithm& algorithm, Random& random, int schedules) {
  for (int run = 0; run < schedules; ++run) {
    const Limit limit = small_limit(algorithm, random);
    const auto traffic = ask_in_order(limiter, "exact:" + std::to_string(run), limit, random, 500);
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      const bool fits = units_within(traffic, i, limit.window) + traffic[i].cost <= limit.limit;
      const auto name = limiter::format_limit(limit);
      CAPTURE(algorithm.name);
      CAPTURE(name);
      CAPTURE(traffic[i].at.count());
      REQUIRE(traffic[i].allowed == fits);
    }
  }
}

void check_burst_and_rate(Limiter& limiter, const Algorithm& algorithm, Random& random,
                          int schedules, double slack) {
  for (int run = 0; run < schedules; ++run) {
    const Limit limit = small_limit(algorithm, random);
    const auto traffic = ask_in_order(limiter, "rate:" + std::to_string(run), limit, random, 500);
    const auto burst = limit.burst_or_limit();
    CAPTURE(algorithm.name);
    for (std::size_t first = 0; first < traffic.size(); ++first) {
      std::int64_t units = 0;
      for (std::size_t last = first; last < traffic.size(); ++last) {
        if (traffic[last].allowed) units += traffic[last].cost;
        // units <= burst + span x limit / window, in whole numbers
        const auto span = (traffic[last].at - traffic[first].at).count();
        const auto excess = (units - burst) * limit.window.count() - span * limit.limit;
        const auto accepted = slack * static_cast<double>(limit.window.count());
        if (static_cast<double>(excess) <= accepted) continue;
        FAIL(units, " allowed in ", span, " us under ", limiter::format_limit(limit),
             " and a burst of ", burst);
      }
    }
  }
}

}  // namespace rlctl::test
