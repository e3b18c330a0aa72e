#include "simulation/measurement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "support/random.h"

namespace rlctl::simulation::measurement_test {

using namespace std::chrono_literals;
using namespace limiter;
using test::Random;

namespace {

constexpr microseconds kBegin{1'700'000'000'000'000};
const Limit kLimit{5, 10us, {}};

struct Decided {
  traffic::Arrival arrival;
  Decision decision;
};
using History = std::vector<Decided>;

/// `us` µs after the beginning.
Decided allow(int us, std::uint32_t key = 0, std::int64_t cost = 1) {
  return {{.at = kBegin + microseconds{us}, .key = key, .cost = cost}, {.allowed = true}};
}
Decided deny(int us, microseconds retry_after, std::uint32_t key = 0, std::int64_t cost = 1) {
  return {{.at = kBegin + microseconds{us}, .key = key, .cost = cost},
          {.allowed = false, .retry_after = retry_after}};
}

Measured measure(const History& history, const std::vector<Limit>& limits = {kLimit}) {
  Measurement measurement(limits);
  for (const auto& [arrival, decision] : history) measurement.add(arrival, decision);
  return measurement.result();
}

bool same(const RetryError& one, const RetryError& other) {
  return one.compared == other.compared && one.broken == other.broken &&
         one.too_early == other.too_early && one.too_late == other.too_late;
}

/// The answers for one key, in order.
History of_key(const History& history, std::uint32_t key) {
  History its;
  std::copy_if(history.begin(), history.end(), std::back_inserter(its),
               [&](const Decided& decided) { return decided.arrival.key == key; });
  return its;
}

/// Each run of denials of a key, with the allowed request that ended it, if any.
std::vector<History> runs_of_denials(const History& its) {
  std::vector<History> runs;
  bool denying = false;
  for (const Decided& decided : its) {
    if (!decided.decision.allowed && !denying) runs.emplace_back();
    if (!decided.decision.allowed || denying) runs.back().push_back(decided);
    denying = !decided.decision.allowed;
  }
  return runs;
}

/// Compares every promise of a run with everything that came after it.
void compare_promises(const History& run, RetryError& error) {
  const auto cost = run.front().arrival.cost;
  bool broken = false, promised = false;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto& [arrival, decision] = run[i];
    if (decision.allowed || arrival.cost != cost) continue;
    const bool never = decision.retry_after == kNever;
    promised |= !never;
    const auto promise = arrival.at + decision.retry_after;
    for (std::size_t later = i + 1; later < run.size(); ++later) {
      const auto at = run[later].arrival.at;
      if (run[later].arrival.cost != cost) continue;
      if (never) {
        broken |= run[later].decision.allowed;
      } else if (!run[later].decision.allowed && at >= promise) {
        broken = true;
        error.too_early = std::max(error.too_early, at - promise);
      } else if (run[later].decision.allowed && at < promise) {
        broken = true;
        error.too_late = std::max(error.too_late, promise - at);
      }
    }
  }
  const bool ended = run.back().decision.allowed && run.back().arrival.cost == cost;
  if (broken || (promised && ended)) ++error.compared;
  if (broken) ++error.broken;
}

/// Random answers, with kept and broken promises and many requests at one instant.
History random_history(Random& random, std::uint32_t keys) {
  History history;
  auto at = kBegin;
  for (auto left = random.uniform(0, 200); left > 0; --left) {
    at += microseconds{random.percent(30) ? 0 : random.log_uniform(1, 20)};
    const auto key = static_cast<std::uint32_t>(random.uniform(0, keys - 1));
    const traffic::Arrival arrival{
        .at = at, .key = key, .cost = random.percent(80) ? 1 : random.uniform(1, 3)};
    if (random.percent(40)) {
      history.push_back({arrival, {.allowed = true}});
    } else {
      const microseconds retry{random.percent(10) ? -1 : random.uniform(0, 30)};
      history.push_back({arrival, {.allowed = false, .retry_after = retry}});
    }
  }
  return history;
}

}  // namespace

TEST_CASE("a measurement equals that of a slow exhaustive count") {
  Random random;
  constexpr std::uint32_t kKeys = 4;
  const std::vector<Limit> limits{{5, 10us, {}}, {7, 100us, {}}};
  for (int round = 0; round < 500; ++round) {
    const auto history = random_history(random, kKeys);
    RetryError error;
    std::int64_t denied = 0, asked_keys = 0, denied_keys = 0;
    microseconds longest{0};
    for (std::uint32_t key = 0; key < kKeys; ++key) {
      const auto its = of_key(history, key);
      const auto runs = runs_of_denials(its);
      for (const auto& run : runs) {
        compare_promises(run, error);
        longest = std::max(longest, run.back().arrival.at - run.front().arrival.at);
      }
      denied += std::count_if(its.begin(), its.end(),
                              [](const Decided& decided) { return !decided.decision.allowed; });
      asked_keys += its.empty() ? 0 : 1;
      denied_keys += runs.empty() ? 0 : 1;
    }
    const auto measured = measure(history, limits);
    CHECK(measured.sent == static_cast<std::int64_t>(history.size()));
    CHECK(measured.denied == denied);
    CHECK(measured.allowed == measured.sent - denied);
    CHECK(measured.keys == asked_keys);
    CHECK(measured.keys_denied == denied_keys);
    CHECK(measured.longest_shut_out == longest);
    const auto first = std::find_if(history.begin(), history.end(), [](const Decided& decided) {
      return !decided.decision.allowed;
    });
    CHECK(measured.first_denial.has_value() == (first != history.end()));
    if (measured.first_denial) CHECK(*measured.first_denial == first->arrival.at);
    CHECK(same(measured.retry_error, error));
  }
}

TEST_CASE("a promise is kept by denials before its instant and an allowed request at or after it") {
  struct Case {
    const char* rule;
    History history;
    RetryError error;
  };
  const Case cases[] = {
      {"denied before, allowed at", {deny(0, 10us), deny(9, 1us), allow(10)}, {1, 0}},
      {"allowed long after", {deny(0, 10us), allow(1000)}, {1, 0}},
      {"denied at", {deny(0, 10us), deny(10, 5us), allow(15)}, {1, 1}},
      {"denied after", {deny(0, 10us), deny(13, 5us), allow(18)}, {1, 1, 3us, 0us}},
      {"denied after, and no more", {deny(0, 10us), deny(13, 5us)}, {1, 1, 3us, 0us}},
      {"allowed before", {deny(0, 10us), allow(4)}, {1, 1, 0us, 6us}},
      {"allowed before a later one", {deny(0, 10us), deny(2, 20us), allow(12)}, {1, 1, 0us, 10us}},
      {"restarts when allowed", {deny(0, 10us), allow(10), deny(11, 10us), allow(21)}, {2, 0}},
      {"each key has its own", {deny(0, 10us, 0), allow(4, 1), allow(10, 0)}, {1, 0}},
      {"never, and allowed", {deny(0, kNever), allow(4)}, {1, 1}},
      {"never, after a time", {deny(0, 10us), deny(1, kNever), allow(10)}, {1, 1}},
      {"never, and denied", {deny(0, kNever), deny(4, kNever)}, {0, 0}},
      {"never, and another cost allowed", {deny(0, kNever, 0, 3), allow(4, 0, 1)}, {0, 0}},
      {"no time told", {deny(0, kTimeNotTold), allow(4)}, {0, 0}},
      {"another cost allowed", {deny(0, 10us, 0, 3), allow(4, 0, 1)}, {0, 0}},
      {"the end is no answer", {deny(0, 10us), deny(5, 5us)}, {0, 0}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.rule);
    CHECK(same(measure(each.history).retry_error, each.error));
  }
}

TEST_CASE("the worst window is reported with its limit, key and position") {
  const auto worst = measure({allow(0, 0, 5), allow(3, 1, 5), allow(8, 1, 4), allow(60, 0, 5)},
                             {{5, 10us, {}}, {6, 100us, {}}})
                         .worst;
  CHECK(worst.allowed == 9);
  CHECK(worst.ratio == 9.0 / 5);
  CHECK(worst.limit == 0);
  CHECK(worst.key == 1);
  CHECK(worst.from == kBegin + 3us);
  CHECK(worst.span == 5us);
  const auto of_long = measure({allow(0, 0, 5), allow(20, 0, 5)}, {{5, 10us, {}}, {6, 100us, {}}});
  CHECK(of_long.worst.limit == 1);
  CHECK(of_long.worst.allowed == 10);
}

TEST_CASE("among equally bad windows, that of the first limit and key is reported") {
  const auto worst = measure({allow(0, 2, 5), allow(3, 1, 5)}, {kLimit, {5, 20us, {}}}).worst;
  CHECK(worst.limit == 0);
  CHECK(worst.key == 1);
}

TEST_CASE("the keys denied most come first, and ties are ordered by number") {
  Measurement measurement({kLimit});
  for (const std::uint32_t key : {7U, 3U, 3U, 9U, 5U, 5U, 2U}) {
    const auto [arrival, decision] = deny(0, 1us, key);
    measurement.add(arrival, decision);
  }
  const auto numbers = [&](std::size_t count) {
    std::vector<std::uint32_t> keys;
    for (const auto& [key, denied] : measurement.most_denied(count)) {
      CHECK(denied == (key == 3 || key == 5 ? 2 : 1));
      keys.push_back(key);
    }
    return keys;
  };
  CHECK(numbers(10) == std::vector<std::uint32_t>{3, 5, 2, 7, 9});
  CHECK(numbers(3) == std::vector<std::uint32_t>{3, 5, 2});
  CHECK(numbers(0).empty());
  CHECK(measurement.result().keys == 5);
}

TEST_CASE("a measurement of nothing is empty") {
  const Measurement measurement({kLimit});
  CHECK(measurement.result().sent == 0);
  CHECK(measurement.result().worst.ratio == 0);
  CHECK(measurement.most_denied(10).empty());
}

TEST_CASE("a delayed request counts at the time when it may proceed") {
  Measurement measurement({{5, 60s, {}}});
  for (const auto delay : {0s, 12s, 24s, 36s, 48s, 60s}) {
    measurement.add({.at = 1000s}, {.allowed = true, .delay = delay});
  }
  const auto worst = measurement.result().worst;
  CHECK(worst.allowed == 5);
  CHECK(worst.from == 1000s);
  CHECK(worst.span == 48s);
}

TEST_CASE("the worst windows of the worst keys are in order, and those of more keys are left out") {
  const History history = {allow(0, 3, 2),  allow(1, 0, 4),  allow(2, 1, 4),
                           deny(3, 1us, 1), deny(4, 1us, 7), allow(60, 3, 5)};
  const auto measured = measure(history);
  std::vector<std::pair<std::uint32_t, std::int64_t>> found;
  for (const auto& [worst, denied] : measured.worst_keys) {
    found.emplace_back(worst.key, worst.allowed);
    CHECK(denied == (worst.key == 1 ? 1 : 0));
  }
  CHECK(found == decltype(found){{3, 5}, {0, 4}, {1, 4}});  // key 7 was allowed nothing
  CHECK(measured.worst_keys.front().worst.from == measured.worst.from);

  History many;
  for (int key = 0; key < 300; ++key) {
    many.push_back(allow(key, static_cast<std::uint32_t>(key), key % 200 + 1));
  }
  const auto of_many = measure(many).worst_keys;
  REQUIRE(of_many.size() == Measured::kWorstKeys);
  for (std::size_t i = 0; i < of_many.size(); ++i) {
    CHECK(of_many[i].worst.allowed == static_cast<std::int64_t>(200 - i));
    CHECK(of_many[i].worst.key == 199 - i);
  }
}

TEST_CASE("denials count for the limit that the decision names") {
  auto first = deny(0, 1us), second = deny(1, 1us), unknown = deny(2, 1us);
  first.decision.denied_by = 1;
  second.decision.denied_by = 2;
  const auto measured = measure({first, second, second, unknown}, {kLimit, {50, 1000us, {}}});
  CHECK(measured.denied_by_limit == std::vector<std::int64_t>{1, 2});
  CHECK(measured.denied == 4);
}

TEST_CASE(
    "the worst minute is the clock minute with the most denials, and the first among equals") {
  // The history begins at 22:13:20, 20 s into its minute.
  const auto second = [](int seconds) { return seconds * 1'000'000; };
  History history{allow(0)};
  CHECK_FALSE(measure(history).worst_minute);
  for (const int at : {1, 39}) history.push_back(deny(second(at), 1us));
  const Minute first{kBegin - 20s, 3, 2};
  CHECK(measure(history).worst_minute == first);
  for (const int at : {40, 41, 99}) history.push_back(deny(second(at), 1us));
  const Minute second_minute{kBegin + 40s, 3, 3};
  CHECK(measure(history).worst_minute == second_minute);
  for (const int at : {400, 410, 411}) history.push_back(deny(second(at), 1us));
  history.push_back(allow(second(412)));
  CHECK(measure(history).worst_minute == second_minute);
}

TEST_CASE(
    "delayed requests leave in the order in which they proceed, whatever the order in which they "
    "came") {
  Random random;
  DelayedRequests requests;
  std::multiset<std::pair<microseconds, std::int64_t>> expected;
  microseconds now{0};
  std::int64_t units = 0;
  for (int i = 0; i < 2000; ++i) {
    now += microseconds{random.uniform(0, 9)};
    // Half the time in order, half the time not.
    const auto at = i / 100 % 2 == 0 ? now + 500us : now + microseconds{random.uniform(0, 499)};
    const auto cost = 1 + random.uniform(0, 2);
    requests.push(at, cost);
    expected.emplace(at, cost);
    units += cost;
    auto before = 0us;
    while (const auto request = requests.pop_until(now)) {
      CHECK(request->at >= before);
      const auto found = expected.find({request->at, request->cost});
      REQUIRE(found != expected.end());
      expected.erase(found);
      before = request->at;
      units -= request->cost;
    }
    CHECK((expected.empty() || expected.begin()->first > now));
    CHECK(requests.empty() == expected.empty());
    CHECK(requests.units() == units);
  }
}

TEST_CASE("requests that proceed out of order are counted at the time when they do") {
  // The first proceeds last: no two are within a window of 2 s.
  Measurement measurement({{1, 2s, {}}});
  for (const auto& [at, delay] : std::vector<std::pair<microseconds, microseconds>>{
           {10s, 9s}, {11s, 0s}, {12s, 1s}, {13s, 2s}, {14s, 3s}}) {
    measurement.add({.at = at}, {.allowed = true, .delay = delay});
  }
  const auto worst = measurement.result().worst;
  CHECK(worst.allowed == 1);
  CHECK(worst.from == 11s);
  CHECK(measurement.result().longest_delay == 9s);
  // Another one between two others is within a window of both.
  measurement.add({.at = 15s}, {.allowed = true, .delay = 1s});
  CHECK(measurement.result().worst.allowed == 2);
}

namespace {

/// A decision that reports what remains and when the key is as if unused.
Decided report(int us, bool allowed, std::int64_t remaining, microseconds reset_after,
               microseconds delay = 0us) {
  return {{.at = kBegin + microseconds{us}},
          {.allowed = allowed, .remaining = remaining, .reset_after = reset_after, .delay = delay}};
}

}  // namespace

TEST_CASE("measurement: remaining is compared with the limit less the units in the window") {
  const auto error = [](const History& history) { return measure(history).remaining_error; };
  CHECK(error({report(0, true, 4, 10us), report(3, true, 3, 10us), report(10, true, 3, 10us)}) ==
        RemainingError{3, 0, 0});
  CHECK(error({report(0, true, 5, 0us)}) == RemainingError{1, 1, 0});
  CHECK(error({report(0, true, 1, 0us), report(1, false, 5, 0us)}) == RemainingError{2, 1, 3});
  CHECK(error({report(0, true, 4, 0us), report(10, false, 5, 0us)}) == RemainingError{2, 0, 0});
  History over;
  for (int i = 0; i < 7; ++i) over.push_back(report(i, true, 0, 0us));
  CHECK(error(over) == RemainingError{7, 0, 4});  // never below 0
  CHECK(error({report(0, true, limiter::kNotTold, 0us)}) == RemainingError{});
}

TEST_CASE("measurement: reset_after is compared with the time until the window is empty") {
  const auto error = [](const History& history) { return measure(history).reset_error; };
  CHECK(error({report(0, true, 0, 10us), report(4, true, 0, 10us), report(9, false, 0, 5us)}) ==
        ResetError{3, 0us, 0us});
  CHECK(error({report(0, true, 0, 7us), report(4, true, 0, 12us)}) == ResetError{2, 3us, 2us});
  CHECK(error({report(0, false, 0, 6us)}) == ResetError{1, 0us, 6us});
  CHECK(error({report(0, true, 0, limiter::kTimeNotTold)}) == ResetError{});
}

TEST_CASE("measurement: delayed units count until a window after they proceed") {
  const History history{report(0, true, 4, 30us, 20us), report(1, true, 3, 29us, 5us),
                        report(16, true, 3, 14us), report(26, true, 3, 10us)};
  CHECK(measure(history).remaining_error == RemainingError{4, 0, 0});
  CHECK(measure(history).reset_error == ResetError{4, 0us, 0us});
}

TEST_CASE(
    "measurement: with several limits the one with the least left and the last to empty counts") {
  const std::vector<Limit> limits{{2, 10us, {}}, {4, 100us, {}}};
  const History history{report(0, true, 1, 100us), report(1, true, 0, 100us),
                        report(11, true, 1, 100us), report(50, true, 0, 100us)};
  CHECK(measure(history, limits).remaining_error == RemainingError{4, 0, 0});
  CHECK(measure(history, limits).reset_error == ResetError{4, 0us, 0us});
}

TEST_CASE("another reading fits if every key's first request is allowed and the limit is kept") {
  struct Read {
    int us = 0;
    bool allowed = true;
    std::uint32_t key = 0;
    std::int64_t cost = 1;
    std::uint32_t place = 0;
  };
  const auto fits = [](std::initializer_list<Read> reads) {
    RepliesSeen::OtherReading reading;
    for (const auto& [us, allowed, key, cost, place] : reads) {
      reading.add(
          {.at = kBegin + microseconds{us}, .key = key, .cost = cost, .index_within_key = place},
          allowed);
    }
    return reading.fits({2, 10us, {}});
  };
  CHECK(fits({{0}, {1}, {2, false}}));
  CHECK(fits({{0}, {0, true, 1}, {1}, {1, true, 1}, {2, false}, {2, true, 1}, {3, true}}));
  CHECK(fits({{0}, {1}, {2, false}, {0, true, 0, 1, 1}, {0, true, 0, 1, 2}}));  // an empty state
  // Nothing was denied; a first request was; one within the limit; another window; another cost;
  // far too late.
  CHECK_FALSE(fits({{0}, {1}, {2}}));
  CHECK_FALSE(fits({{0}, {1}, {2, false}, {2, false, 1}}));
  CHECK_FALSE(fits({{0}, {1}, {2, false}, {0, false, 0, 1, 1}}));
  CHECK_FALSE(fits({{0}, {1, false}}));
  CHECK_FALSE(fits({{0}, {1}, {10, false}}));
  CHECK_FALSE(fits({{0}, {1}, {2, false, 0, 2}}));
  CHECK_FALSE(fits({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8, false}}));
}

namespace {

struct Unit {
  microseconds at;
  std::int64_t cost;
};

/// The units allowed, from when, and in which time.
using Found = std::tuple<std::int64_t, microseconds, microseconds>;

/// Tries every span that begins with a request, in order.
Found by_trying_all(const std::vector<Unit>& units, microseconds window) {
  Found best;
  for (std::size_t first = 0; first < units.size(); ++first) {
    const auto from = units[first].at;
    std::int64_t allowed = 0;
    for (std::size_t i = first; i < units.size() && units[i].at - from < window; ++i) {
      allowed += units[i].cost;
      if (allowed > std::get<0>(best)) best = {allowed, from, units[i].at - from};
    }
  }
  return best;
}

}  // namespace

TEST_CASE("the worst window equals that of an exhaustive search") {
  Random random;
  for (int round = 0; round < 2'000; ++round) {
    const microseconds window{random.log_uniform(1, 1'000)};
    std::vector<Unit> units;
    microseconds at{random.uniform(0, 1'000'000)};
    for (auto left = random.uniform(0, 60); left > 0; --left) {
      if (!random.percent(30)) at += microseconds{random.log_uniform(1, window.count() + 1)};
      units.push_back({at, random.percent(70) ? 1 : random.uniform(2, 9)});
    }
    CAPTURE(window.count());
    WorstWindow worst(window);
    for (const auto& [when, cost] : units) worst.allow(when, cost);
    const Found found{worst.allowed(), worst.from(), worst.span()};
    CHECK((found == by_trying_all(units, window)));
  }
}

}  // namespace rlctl::simulation::measurement_test
