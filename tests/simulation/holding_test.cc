#include "simulation/holders.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "support/deciders.h"
#include "support/random.h"
#include "traffic/pattern.h"

namespace rlctl::simulation::holding_test {

using namespace std::chrono_literals;
using namespace test;
using limiter::Decision;
using limiter::Limit;

namespace {

struct Asked {
  traffic::Arrival arrival;
  bool allowed;
};

struct Result {
  HolderOutcome found;
  std::vector<Asked> asked;
};

/// What the rules are of leases whose holders work on.
HoldRules rules_of(const Limit& limit, microseconds tick = {}) {
  return {.limit = limit, .has_leases = true, .early = tick, .late = tick, .works_on = true};
}

Result run(traffic::Traffic&& traffic, Decider& decider, const Limit& limit, const HolderPlan& plan,
           microseconds tick = {}) {
  Result result;
  const Interrupt interrupt;
  result.found = run_holders(traffic, decider, rules_of(limit, tick), plan, interrupt,
                             [&](const traffic::Arrival& arrival, const Decision& decision) {
                               result.asked.push_back({arrival, decision.allowed});
                             });
  return result;
}

HolderReport run_model(const std::vector<microseconds>& times, const Limit& limit,
                       const HolderPlan& plan) {
  LeaseModelDecider model(limit);
  return run(Arrivals(times), model, limit, plan).found.report;
}

std::string texts(const std::vector<Asked>& asked) {
  std::string text;
  for (const auto& [arrival, allowed] : asked) {
    text += std::to_string((arrival.at - kVirtualStart) / 1s) + " " +
            traffic::holder_name(arrival.holder) + " " + std::string(event_name(arrival.event)) +
            (allowed ? "; " : " no; ");
  }
  return text;
}

}  // namespace

TEST_CASE("holding: a holder releases its lease, at equal times before another acquires") {
  LeaseModelDecider model({1, 30s, {}});
  const auto result = run(Arrivals({0s, 1s, 2s}), model, {1, 30s, {}}, HolderPlan{.hold = 2s});
  CHECK(texts(result.asked) ==
        "0 h1 acquire; 1 h2 acquire no; 2 h1 release; 2 h3 acquire; 4 h3 release; ");
  const auto& held = result.found.report;
  CHECK(held.most.held == 1);
  CHECK(held.most.at == kVirtualStart);
  CHECK(held.finished == 2);
  CHECK(held.starved == 0);
  CHECK(result.found.outcome.measured.denied == 1);
  REQUIRE(held.end);
  CHECK(held.end->taken == 0);
  CHECK(held.end->too_many == 0);
  CHECK(held.end->after == 60s);
  REQUIRE(held.steps.size() == 3);
  CHECK(held.steps.back().held == 0);
}

TEST_CASE("holding: leases are renewed each third, until they are released") {
  LeaseModelDecider model({1, 6s, {}});
  const auto result =
      run(Arrivals({0s}), model, {1, 6s, {}}, HolderPlan{.hold = 6s, .renews = true});
  CHECK(texts(result.asked) == "0 h1 acquire; 2 h1 renew; 4 h1 renew; 6 h1 release; ");
  CHECK(result.found.report.renewed == 2);
  CHECK(result.found.report.renewals_refused == 0);
}

TEST_CASE("holding: who holds on after the lease has ended is counted apart") {
  const auto held = run_model({0s, 10s}, {1, 10s, {}}, HolderPlan{.hold = 15s});
  CHECK(held.most.held == 1);
  CHECK(held.most_ever.held == 2);
  CHECK(held.most_ever.lapsed == 1);
  CHECK(held.most_ever.at == kVirtualStart + 10s);
  CHECK(held.refused_while_held == 0);  // of a lease that has ended
}

TEST_CASE("holding: a limiter that never frees a slot leaks it, during the traffic and after it") {
  int acquired = 0;
  Answers counter([&](const traffic::Arrival& arrival) {
    return arrival.event != traffic::Event::kRequest || ++acquired <= 2;
  });
  const auto held =
      run(Arrivals({0s, 0s, 5s, 9s}), counter, {2, 30s, {}}, HolderPlan{.hold = 1s}).found.report;
  CHECK(held.starved == 2);
  CHECK(held.longest_starved == 4s);
  CHECK(held.leaked == 2);
  CHECK(held.longest_leaked == 4s);
  REQUIRE(held.end);
  CHECK(held.end->taken == 2);
}

TEST_CASE("holding: one that allows everything exceeds the limit, and the probe shows it too") {
  Answers open([](const traffic::Arrival&) { return true; });
  const auto held =
      run(Arrivals({0s, 0s, 0s, 9s}), open, {2, 30s, {}}, HolderPlan{.hold = 1s}).found.report;
  CHECK(held.most.held == 5);
  CHECK(held.most.at == kVirtualStart + 70s);
  REQUIRE(held.end);
  CHECK(held.end->too_many == 3);
}

TEST_CASE("holding: refusals to release or renew count while the lease has not ended") {
  Answers stubborn(
      [](const traffic::Arrival& arrival) { return arrival.event == traffic::Event::kRequest; });
  const auto held =
      run(Arrivals({0s, 1s}), stubborn, {2, 9s, {}}, HolderPlan{.hold = 5s, .renews = true})
          .found.report;
  CHECK(held.refused_while_held == 2);
  CHECK(held.renewals_refused == 2);  // then nobody tries again
}

TEST_CASE("holding: times and deaths are the same whatever the limiter decides") {
  const HolderPlan plan{.hold = 2s, .is_exponential = true, .crash_share = 0.5};
  std::vector<microseconds> times;
  for (int i = 0; i < 1'000; ++i) times.push_back(i * 1s);
  Answers open([](const traffic::Arrival&) { return true; });
  Answers half([](const traffic::Arrival& arrival) { return arrival.holder % 2 == 0; });
  std::map<std::uint32_t, microseconds> released;
  const auto all = run(Arrivals(times), open, {1, 30s, {}}, plan);
  for (const auto& [arrival, allowed] : all.asked) {
    if (arrival.event == traffic::Event::kRelease) released[arrival.holder] = arrival.at;
  }
  CHECK(all.found.report.died > 400);
  CHECK(all.found.report.died < 600);
  microseconds sum{0};
  for (const auto& [holder, at] : released) sum += at - kVirtualStart - (holder - 1) * 1s;
  const auto mean = sum / static_cast<std::int64_t>(released.size());
  CHECK(mean > 1700ms);
  CHECK(mean < 2300ms);
  for (const auto& [arrival, allowed] : run(Arrivals(times), half, {1, 30s, {}}, plan).asked) {
    if (arrival.event == traffic::Event::kRelease) CHECK(released.at(arrival.holder) == arrival.at);
  }
}

TEST_CASE("holding: a coarse clock may end a lease early or late, which is held against nobody") {
  const Limit limit{1, 10s, {}};
  const auto ask = [&](microseconds second, bool allowed, const HolderPlan& plan,
                       microseconds tick = {}) {
    Answers answers([&](const traffic::Arrival& arrival) {
      return arrival.holder == 1 || (allowed && arrival.holder == 2);
    });
    return run(Arrivals({0s, second}), answers, limit, plan, tick).found.report;
  };
  CHECK(ask(10s - 1ms, true, {.hold = 20s}).most.held == 2);
  CHECK(ask(10s - 1ms, true, {.hold = 20s}, 1ms).most.held == 1);
  CHECK(ask(10s + 500us, false, {.hold = 1us, .crash_share = 1}).starved == 1);
  CHECK(ask(10s + 500us, false, {.hold = 1us, .crash_share = 1}, 1ms).starved == 0);
}

TEST_CASE("holding: an interrupt ends it, and nothing is said of the end") {
  Interrupt interrupt;
  LeaseModelDecider model({1, 30s, {}});
  Arrivals traffic({0s, 1s});
  interrupt.raise(SIGINT);
  const auto result =
      run_holders(traffic, model, rules_of({1, 30s, {}}), HolderPlan{.hold = 1s}, interrupt);
  CHECK(result.outcome.interrupted);
  CHECK_FALSE(result.report.end);
}

// ---- Against a model written apart ----

namespace {

/// A holder with its whole life, as a simulation that asks at every instant sees it.
struct Life {
  std::uint32_t key = 0;
  microseconds from{0}, to{0};
  bool dies = false;
  std::vector<microseconds> extended = {};  ///< when it acquired and renewed
};

/// What the events of a run mean, found by looking at all holders after every event.
struct Slow {
  std::int64_t most = 0, most_ever = 0, starved = 0, leaked = 0, releases_refused = 0;
  microseconds longest_starved{0}, longest_leaked{0};
};

Slow slow_measure(const std::vector<Asked>& asked, const std::map<std::uint32_t, Life>& fates,
                  const Limit& limit) {
  Slow slow;
  std::map<std::uint32_t, Life> lives;
  std::map<std::uint32_t, microseconds> starved_since, leaked_since, last_acquire;
  const auto lease_end = [&](const Life& life, microseconds now) {
    microseconds end{0};
    for (const auto at : life.extended) {
      if (at <= now) end = std::max(end, at + limit.window);
    }
    return end;
  };
  microseconds last{0};
  for (const auto& [arrival, allowed] : asked) {
    const auto now = arrival.at;
    const auto key = arrival.key;
    const auto found = lives.find(arrival.holder);
    if (arrival.event == traffic::Event::kRequest) last_acquire[key] = now;
    if (arrival.event == traffic::Event::kRequest && allowed) {
      lives[arrival.holder] = fates.at(arrival.holder);
      lives[arrival.holder].extended = {now};
    } else if (arrival.event == traffic::Event::kRenew && allowed) {
      found->second.extended.push_back(now);
    } else if (arrival.event == traffic::Event::kRelease) {
      if (!allowed && lease_end(found->second, now) > now) ++slow.releases_refused;
      lives.erase(found);
    }
    std::int64_t live = 0, held = 0, taken = 0;
    for (const auto& [holder, life] : lives) {
      if (life.key != key) continue;
      const bool is_gone = life.dies && life.to <= now;
      const bool has_lease = lease_end(life, now) > now;
      held += is_gone ? 0 : 1;
      live += !is_gone && has_lease ? 1 : 0;
      taken += !is_gone || has_lease ? 1 : 0;
    }
    slow.most = std::max(slow.most, live);
    slow.most_ever = std::max(slow.most_ever, held);
    if (arrival.event == traffic::Event::kRequest && !allowed && taken < limit.limit) {
      ++slow.starved;
      slow.leaked = std::max(slow.leaked, limit.limit - taken);
      starved_since.emplace(key, now);
      leaked_since.emplace(key, now);
    }
    if (arrival.event == traffic::Event::kRequest && allowed) {
      if (starved_since.contains(key)) {
        slow.longest_starved = std::max(slow.longest_starved, now - starved_since[key]);
        starved_since.erase(key);
      }
      if (leaked_since.contains(key) && taken >= limit.limit) {
        slow.longest_leaked = std::max(slow.longest_leaked, now - leaked_since[key]);
        leaked_since.erase(key);
      }
    }
    last = now;
  }
  for (const auto& [holder, life] : lives) {
    if (life.dies) last = std::max(last, life.to);
  }
  for (const auto& [key, since] : starved_since) {
    slow.longest_starved = std::max(slow.longest_starved, last_acquire[key] - since);
  }
  for (const auto& [key, since] : leaked_since) {
    slow.longest_leaked = std::max(slow.longest_leaked, last - since);
  }
  return slow;
}

/// The fates of the holders of these acquires, from the same random numbers.
std::map<std::uint32_t, Life> fates_of(const std::vector<traffic::Arrival>& arrivals,
                                       const HolderPlan& plan) {
  std::map<std::uint32_t, Life> fates;
  traffic::Random random(plan.seed + 0x9E3779B97F4A7C15U);
  const auto scaled = [](microseconds time, double factor) {
    const auto us = std::llround(static_cast<double>(time.count()) * factor);
    return microseconds{std::max<std::int64_t>(us, 1)};
  };
  for (const auto& arrival : arrivals) {
    Life life{.key = arrival.key, .from = arrival.at};
    const auto hold = plan.is_exponential ? scaled(plan.hold, random.exponential()) : plan.hold;
    life.dies = random.uniform() < plan.crash_share;
    const auto moment = random.uniform();
    life.to = life.from + (life.dies ? scaled(hold, moment) : hold);
    fates.emplace(static_cast<std::uint32_t>(fates.size()) + 1, life);
  }
  return fates;
}

}  // namespace

TEST_CASE("holding: what is measured is what a slow simulation finds, whatever is decided") {
  test::Random random;
  for (int round = 0; round < test::scaled(300, 1'000); ++round) {
    CAPTURE(round);
    const Limit limit{random.uniform(1, 4), microseconds{random.uniform(1, 20) * 500'000}, {}};
    const HolderPlan plan{.hold = microseconds{random.uniform(1, 8) * 500'000},
                          .is_exponential = random.percent(50),
                          .crash_share = random.percent(50) ? 0.3 : 0,
                          .renews = random.percent(50),
                          .seed = static_cast<std::uint64_t>(round)};
    std::vector<traffic::Arrival> arrivals;
    auto now = kVirtualStart;
    for (int i = 0; i < 100; ++i) {
      now += microseconds{random.uniform(0, 4) * 250'000};
      arrivals.push_back({.at = now, .key = static_cast<std::uint32_t>(random.uniform(0, 1))});
    }
    // It decides at random, or like a model that sometimes errs.
    LeaseModelDecider model(limit);
    const auto errs = random.percent(30) ? 50 : random.percent(50) ? 5 : 0;
    Answers answers([&](const traffic::Arrival& arrival) {
      std::vector<Decision> decision(1);
      model.decide({&arrival, 1}, decision);
      // Not in the end, which the simulation does not see.
      return decision[0].allowed != (arrival.holder <= arrivals.size() && random.percent(errs));
    });
    const auto [found, asked] = run(Arrivals(arrivals), answers, limit, plan);
    const auto slow = slow_measure(asked, fates_of(arrivals, plan), limit);
    const auto& held = found.report;
    CHECK(held.most.held == slow.most);
    CHECK(held.most_ever.held == slow.most_ever);
    CHECK(held.starved == slow.starved);
    CHECK(held.longest_starved == slow.longest_starved);
    CHECK(held.leaked == slow.leaked);
    CHECK(held.longest_leaked == slow.longest_leaked);
    CHECK(held.refused_while_held == slow.releases_refused);
    if (errs == 0) {
      CHECK(held.most.held <= limit.limit);
      CHECK(held.starved == 0);
      REQUIRE(held.end);
      CHECK(held.end->taken == 0);
      CHECK(held.end->too_many == 0);
    }
  }
}

}  // namespace rlctl::simulation::holding_test
