#include "simulation/holds.h"

#include <doctest/doctest.h>

namespace rlctl::simulation::holds_test {

using namespace std::chrono_literals;

namespace {

const HoldRules kLeases{.limit = {2, 10s, {}}, .has_leases = true, .late = 5s};
const HoldRules kBudget{.limit = {10, 60s, {}}};
const HoldRules kOtherBudget{.limit = {10, 60s, {}}, .is_budget = false};

traffic::Arrival event(microseconds at, traffic::Event what, std::uint32_t holder,
                       std::int64_t units = 1, std::int64_t actual = 0) {
  return {.at = at, .event = what, .cost = units, .holder = holder, .actual = actual, .hold = 20s};
}

}  // namespace

TEST_CASE("holds: a second acquire prolongs a lease, and may have taken a second unit") {
  Holds holds(kLeases);
  holds.add(event(0s, traffic::Event::kRequest, 1), true);
  holds.add(event(8s, traffic::Event::kRequest, 1), true);
  CHECK(holds.held() == 1);
  CHECK(holds.most_counted() == 2);
  holds.advance(18s);
  CHECK(holds.held() == 0);
  CHECK(holds.most_counted() == 2);  // a limiter may be late
  holds.advance(23s);
  CHECK(holds.most_counted() == 0);
}

TEST_CASE("holds: a renewal brings a lapsed lease back, but not a released one") {
  Holds holds(kLeases);
  holds.add(event(0s, traffic::Event::kRequest, 1), true);
  CHECK(holds.note_on(event(11s, traffic::Event::kRenew, 1)) == "lease had ended");
  CHECK(holds.add(event(11s, traffic::Event::kRenew, 1), true));
  CHECK(holds.held() == 1);
  holds.add(event(12s, traffic::Event::kRelease, 1),
            false);  // a release ends it however it is answered
  CHECK(holds.held() == 0);
  CHECK_FALSE(holds.add(event(13s, traffic::Event::kRenew, 1), true));
  CHECK(holds.note_on(event(13s, traffic::Event::kRelease, 1)) == "released before");
  CHECK(holds.most_counted() == 0);
}

TEST_CASE("holds: a holder that works on uses its unit until it dies, which frees it at the end") {
  auto rules = kLeases;
  rules.works_on = true;
  Holds holds(rules);
  for (const std::uint32_t holder : {1U, 2U}) {
    holds.add(event(0s, traffic::Event::kRequest, holder), true);
  }
  holds.die(1);
  CHECK(holds.held() == 1);
  CHECK(holds.most_counted() == 2);
  holds.advance(30s);
  CHECK(holds.held() == 0);
  CHECK(holds.lapsed() == 1);
  CHECK(holds.most_counted() == 1);
}

TEST_CASE("holds: a second reserve changes nothing in budget; elsewhere it may reserve again") {
  for (const auto& rules : {kBudget, kOtherBudget}) {
    Holds holds(rules);
    CHECK(holds.add(event(0s, traffic::Event::kReserve, 1, 4), true));
    holds.add(event(1s, traffic::Event::kSettle, 1, 4, 3), true);
    CHECK(holds.note_on(event(2s, traffic::Event::kReserve, 1)) == "reserved before");
    CHECK_FALSE(holds.add(event(2s, traffic::Event::kReserve, 1, 4), true));
    CHECK(holds.held() == 0);
    CHECK(holds.most_counted() == (rules.is_budget ? 3 : 7));
    holds.add(event(3s, traffic::Event::kSettle, 1, 4, 5), true);
    CHECK(holds.spent(kOfClock) == 3);
    CHECK(holds.most_counted() == (rules.is_budget ? 3 : 8));
  }
}

TEST_CASE("holds: a late settle is spent for certain for as long again as the hold was") {
  for (const auto at : {39s, 40s}) {
    Holds holds(kBudget);
    holds.add(event(0s, traffic::Event::kReserve, 1, 4), true);
    CHECK_FALSE(
        holds.add(event(1s, traffic::Event::kSettle, 1, 4, 4), false));  // which counts for nothing
    CHECK(holds.held() == 4);
    holds.add(event(at, traffic::Event::kSettle, 1, 4, 4), true);
    CHECK(holds.spent(kOfClock) == (at < 40s ? 4 : 0));
  }
}

TEST_CASE("holds: four windows begin at different events") {
  Holds holds(kOtherBudget);
  const auto spent = [&] {
    std::array<std::int64_t, kWindowKinds> all{};
    for (std::size_t kind = 0; kind < kWindowKinds; ++kind) {
      all[kind] = holds.spent(static_cast<WindowKind>(kind));
    }
    return all;
  };
  holds.add(event(50s, traffic::Event::kReserve, 1, 2), true);
  holds.add(event(55s, traffic::Event::kSettle, 1, 2, 0), true);
  holds.add(event(58s, traffic::Event::kReserve, 2, 2), true);
  holds.add(event(59s, traffic::Event::kSettle, 2, 2, 2), true);
  CHECK(spent() == std::array<std::int64_t, 4>{2, 2, 2, 2});
  holds.advance(60s);
  CHECK(spent() == std::array<std::int64_t, 4>{0, 2, 2, 2});
  holds.advance(110s);
  CHECK(spent() == std::array<std::int64_t, 4>{0, 0, 2, 2});
  holds.advance(115s);
  CHECK(spent() == std::array<std::int64_t, 4>{0, 0, 0, 2});
  holds.advance(119s);
  CHECK(spent() == std::array<std::int64_t, 4>{0, 0, 0, 0});
}

}  // namespace rlctl::simulation::holds_test
