// needs: server
#include "simulation/holders.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/deciders.h"
#include "support/foreign_bench.h"
#include "support/limiters.h"
#include "support/random.h"

namespace traffic_spending_test {

using namespace std::chrono_literals;
using namespace rlctl::script;
using namespace rlctl::simulation;
using namespace rlctl::traffic;
using namespace rlctl::test;
using namespace rlctl::test::foreign;
using Random = rlctl::test::Random;
using rlctl::Interrupt;
using rlctl::UsageError;

namespace {

constexpr Limit kLimit{.limit = 10, .window = 60s};

struct Result {
  HolderOutcome found;
  std::string asked;
};

Result run(const std::vector<microseconds>& times, Decider& decider, const HoldRules& rules,
           const HolderPlan& plan) {
  Result result;
  const Interrupt interrupt;
  Arrivals traffic(times);
  result.found = run_holders(traffic, decider, rules, plan, interrupt,
                             [&](const Arrival& arrival, const Decision& decision) {
                               result.asked += std::to_string((arrival.at - kVirtualStart) / 1s) +
                                               " " + reservation_name(arrival.holder) + " " +
                                               std::string(event_name(arrival.event)) +
                                               (arrival.event == Event::kSettle
                                                    ? " " + std::to_string(arrival.actual)
                                                    : std::string()) +
                                               (decision.allowed ? "; " : " no; ");
                             });
  return result;
}

Result run_model(const std::vector<microseconds>& times, const HolderPlan& plan) {
  BudgetModelDecider model({kLimit});
  return run(times, model, {.limit = kLimit}, plan);
}

}  // namespace

TEST_CASE("spending: a reservation is settled with its actual cost, before another is made") {
  const auto result =
      run_model({0s, 1s, 2s},
                {.units = 6, .least_actual = 4, .most_actual = 4, .hold = 30s, .settle_after = 2s});
  CHECK(result.asked ==
        "0 r1 reserve; 1 r2 reserve no; 2 r1 settle 4; 2 r3 reserve; "
        "4 r3 settle 4; ");
  const auto& spent = result.found.report;
  CHECK(spent.finished == 2);
  CHECK(spent.late == 0);
  CHECK(spent.most.both() == 10);
  CHECK(spent.most.at == kVirtualStart + 2s);
  CHECK(spent.exceeded == 0);
  CHECK(spent.starved == 0);
  REQUIRE(spent.end);
  CHECK(spent.end->taken == 0);
  CHECK(result.found.outcome.measured.denied == 1);
  CHECK(spent.steps.back().held == 8);  // in this minute; what the end asks for is not drawn
}

TEST_CASE("spending: a late settle is spent although its units were given to another") {
  const auto result = run_model({0s, 5s}, {.units = 6, .hold = 5s, .settle_after = 8s});
  CHECK(result.asked == "0 r1 reserve; 5 r2 reserve; 8 r1 settle 6; 13 r2 settle 6; ");
  const auto& spent = result.found.report;
  CHECK(spent.late == 2);
  CHECK(spent.overspent == 2);  // which is nobody's fault
  CHECK(spent.exceeded == 0);
}

TEST_CASE("spending: who dies frees the units at the end of the hold") {
  const auto result =
      run_model({0s, 4s, 5s}, {.units = 6, .hold = 5s, .settle_after = 1s, .crash_share = 1});
  CHECK(result.asked == "0 r1 reserve; 4 r2 reserve no; 5 r3 reserve; ");
  CHECK(result.found.report.died == 2);
  CHECK(result.found.report.starved == 0);
  CHECK(result.found.report.finished == 0);
}

TEST_CASE("spending: a settle that comes when the reservation is forgotten is refused") {
  const auto result = run_model({0s}, {.units = 6, .hold = 5s, .settle_after = 10s});
  CHECK(result.found.report.most.both() == 6);  // though the end asks for all
  CHECK(result.asked == "0 r1 reserve; 10 r1 settle 6 no; ");
  CHECK(result.found.report.refused == 1);
  CHECK(result.found.report.refused_while_held == 0);
  CHECK(result.found.report.finished == 0);
}

TEST_CASE("spending: units lost for good are found at the end, to the unit") {
  std::int64_t used = 3;
  Answers leaky([&](const Arrival& arrival) {
    if (arrival.event == Event::kSettle || used + arrival.cost > kLimit.limit) return false;
    used += arrival.cost;
    return true;
  });
  const auto spent = run({0s}, leaky, {.limit = kLimit}, {.units = 4, .hold = 1s}).found.report;
  CHECK(spent.starved == 0);
  CHECK(spent.leaked == 10);  // it never gave back what it gave: the second time nothing was left
}

namespace {

struct Decided {
  Arrival arrival;
  bool allowed;
};

/// What HolderMeasurement should find with windows of the clock, each time from all events.
struct Naive {
  std::int64_t most = 0, exceeded = 0, starved = 0, leaked = 0, overspent = 0;

  /// The units spent or held at this time, of the first `count` events.
  static std::int64_t used(const std::vector<Decided>& all, std::size_t count, microseconds now) {
    std::int64_t units = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [reserve, allowed] = all[i];
      if (reserve.event != Event::kReserve || !allowed) continue;
      const Arrival* settle = nullptr;
      for (std::size_t j = i + 1; j < count && settle == nullptr; ++j) {
        const auto& its = all[j].arrival;
        const bool is_mine = its.event == Event::kSettle && its.holder == reserve.holder;
        if (is_mine && all[j].allowed) settle = &its;
      }
      if (settle == nullptr) {
        units += reserve.at + reserve.hold > now ? reserve.cost : 0;
      } else if (settle->at < reserve.at + 2 * reserve.hold) {
        units += settle->at / kLimit.window == now / kLimit.window ? settle->actual : 0;
      }
    }
    return units;
  }
  explicit Naive(const std::vector<Decided>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& [arrival, allowed] = all[i];
      const auto before = used(all, i, arrival.at), units = used(all, i + 1, arrival.at);
      if (arrival.event == Event::kSettle) {
        if (units > before) overspent = std::max(overspent, units - kLimit.limit);
      } else if (allowed) {
        most = std::max(most, units);
        exceeded += units > kLimit.limit ? 1 : 0;
      } else if (units + arrival.cost <= kLimit.limit) {
        ++starved;
        leaked = std::max(leaked, kLimit.limit - units);
      }
    }
  }
};

}  // namespace

TEST_CASE("spending: whatever a limiter answers, what is measured is what all events add up to") {
  Random random;
  for (int round = 0; round < 200; ++round) {
    std::vector<Decided> all;
    HolderMeasurement measurement({.limit = kLimit});
    microseconds after{0};
    std::uint32_t holders = 0;
    for (int i = 0; i < 60; ++i) {
      after += random.percent(30) ? 0us : microseconds{random.uniform(0, 9'000'000)};
      const bool settles = holders > 0 && random.percent(50);
      const auto holder =
          settles ? static_cast<std::uint32_t>(random.uniform(1, holders)) : ++holders;
      Arrival arrival{.at = kVirtualStart + after,
                      .event = settles ? Event::kSettle : Event::kReserve,
                      .cost = random.uniform(1, 5),
                      .holder = holder,
                      .actual = settles ? random.uniform(0, 7) : 0,
                      .hold = 8s};
      all.push_back({arrival, random.percent(settles ? 90 : 60)});
      measurement.add(arrival, all.back().allowed);
    }
    const Naive expected(all);
    const auto found = measurement.finish();
    CAPTURE(round);
    CHECK(found.most.both() == expected.most);
    CHECK(found.exceeded == expected.exceeded);
    CHECK(found.starved == expected.starved);
    CHECK(found.leaked == expected.leaked);
    CHECK(found.overspent == expected.overspent);
  }
}

TEST_CASE("spending: the script budget and its model decide the same events alike") {
  TestServer server;
  const Candidate candidate{&algorithm("budget"), {kLimit}};
  const auto script = script_of(candidate);
  ScriptDecider on_server(server.connection(), *script);
  BudgetModelDecider model(candidate.limits);
  Random random;
  std::vector<Arrival> arrivals;
  microseconds after{0};
  for (int i = 0; i < 3'000; ++i) {
    after += random.percent(50) ? 0us : microseconds{random.uniform(0, 8'000'000)};
    const auto kind = random.uniform(0, 4);
    arrivals.push_back({.at = kVirtualStart + after,
                        .key = static_cast<std::uint32_t>(random.uniform(0, 1)),
                        .event = kind == 0  ? Event::kRequest
                                 : kind < 3 ? Event::kReserve
                                            : Event::kSettle,
                        .cost = random.uniform(1, 5),
                        .holder = static_cast<std::uint32_t>(random.uniform(1, 20)),
                        .actual = random.uniform(0, 7),
                        .hold = 10s});
  }
  std::vector<Decision> first(arrivals.size()), second(arrivals.size());
  REQUIRE(on_server.decide(arrivals, first) == arrivals.size());
  REQUIRE(model.decide(arrivals, second) == arrivals.size());
  CHECK(first == second);
}

TEST_CASE("spending: a script is told the ID, the units, the actual cost and the hold") {
  TestServer server;
  auto all = limiter("redis.call('RPUSH', KEYS[1], table.concat(ARGV, ' ')) return 1", {"{key}"},
                     {"{event}", "{reservation}", "{cost}", "{actual}", "{hold}", "{hold_ms}"});
  CHECK_THROWS_WITH_AS(
      require_usable(all, kLimit),
      "args: {event} is about leases or reservations; it requires --concurrency or "
      "--reserve",
      UsageError);
  all.hold = 1500ms;
  const auto foreign = candidate(all, kLimit);
  const auto script = script_of(foreign);
  ScriptDecider decider(server.connection(), *script);
  const std::vector<Arrival> arrivals{
      {.at = kVirtualStart, .event = Event::kReserve, .cost = 5, .holder = 7, .hold = 1500ms},
      {.at = kVirtualStart,
       .event = Event::kSettle,
       .cost = 5,
       .holder = 7,
       .actual = 3,
       .hold = 1500ms}};
  std::vector<Decision> decisions(2);
  REQUIRE(decider.decide(arrivals, decisions) == 2);
  const auto reply = server.call({"LRANGE", "p:1", "0", "-1"});
  CHECK(reply[0].text() == "reserve r7 5 0 1.5 1500");
  CHECK(reply[1].text() == "settle r7 5 3 1.5 1500");
}

TEST_CASE("spending: what exceeds the limit at the end is told apart from what traffic shows") {
  Answers allows_all([](const Arrival&) { return true; });
  const HolderPlan plan{.units = 5, .hold = 5s, .settle_after = 1s};
  const auto spent = run({0s}, allows_all, {.limit = kLimit}, plan).found.report;
  CHECK(spent.most.both() == 5);
  CHECK(spent.exceeded == 0);
  REQUIRE(spent.end);
  CHECK(spent.end->too_many > 0);
  CHECK(spent.end->taken == 0);
}

TEST_CASE("spending: the windows of a foreign limiter may begin with the first units spent") {
  HolderMeasurement measured({.limit = kLimit, .is_budget = false});
  std::uint32_t id = 0;
  const auto spend = [&](microseconds at, std::int64_t actual) {
    Arrival arrival{.at = kVirtualStart + at,
                    .event = Event::kReserve,
                    .cost = std::max<std::int64_t>(1, actual),
                    .holder = ++id,
                    .hold = 1s};
    measured.add(arrival, true);
    arrival.event = Event::kSettle;
    arrival.actual = actual;
    measured.add(arrival, true);
  };
  // 19 from 2:00 to 3:00, and also after the first reservation or settle that comes after 1:10.
  spend(10s, 0);
  spend(65s, 1);
  spend(124s, 9);
  spend(126s, 10);
  CHECK(measured.finish().exceeded == 0);
  spend(127s, 1);
  CHECK(measured.finish().exceeded == 1);
}

TEST_CASE("spending: windows of another kind are not held against a foreign limiter") {
  // What a limiter is found to have done whose windows begin with a reservation.
  const auto found_with = [](bool is_budget) {
    std::int64_t used = 0;
    microseconds end{0};
    Answers from_first([&](const Arrival& arrival) {
      if (arrival.event == Event::kSettle) return true;
      if (arrival.at >= end) {
        end = arrival.at + kLimit.window;
        used = 0;
      }
      if (used + arrival.cost > kLimit.limit) return false;
      used += arrival.cost;
      return true;
    });
    const HolderPlan plan{.units = 5, .hold = 1s, .settle_after = 1us};
    return run({50s, 100s, 110s, 111s, 121s}, from_first, {.limit = kLimit, .is_budget = is_budget},
               plan)
        .found.report;
  };
  const auto by_clock = found_with(true);
  CHECK(by_clock.exceeded == 1);  // from 1:00 to 2:00
  CHECK(by_clock.starved == 1);   // at 2:01
  const auto foreign = found_with(false);
  CHECK(foreign.exceeded == 0);
  CHECK(foreign.starved == 0);
  CHECK(foreign.leaked == 0);
}

}  // namespace traffic_spending_test
