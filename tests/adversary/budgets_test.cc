// needs: server
#include "adversary/holdings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/limiters.h"

namespace adversary_budgets_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::adversary;
using namespace rlctl::test;
using rlctl::adversary::Schedule;
using rlctl::traffic::Event;

namespace {

constexpr microseconds kBase{2'524'608'000'000'000};
const HoldingSearch kExact{.limit = {10, 60s, {}},
                           .units = 4,
                           .hold = 25s,
                           .is_exact = true,
                           .tries = 10'000,
                           .base = kBase};

HoldingSearch in_milliseconds(HoldingSearch search) {
  search.is_exact = false;
  search.tick = 1ms;
  return search;
}

std::string to_text(const std::optional<HoldingFinding>& finding) {
  if (!finding) return "none";
  std::string text;
  for (std::size_t i = 0; i < finding->schedule.size(); ++i) {
    const auto& request = finding->schedule[i];
    text += std::to_string((request.at - kBase) / 1ms) + " r" + std::to_string(request.holder) +
            " " + std::string(rlctl::traffic::event_name(request.event)) + " " +
            std::to_string(request.event == Event::kSettle ? request.actual : request.cost) +
            (finding->answers[i].allowed ? ", " : " denied, ");
  }
  return text;
}

}  // namespace

TEST_CASE("budgets: nothing is found in budget, nor in its model") {
  HolderModelTrial model(kExact.limit, false);
  TestServer server;
  const TrialKeys keys;
  const auto script =
      rlctl::script::make_script({&algorithm("budget"), {kExact.limit}}, keys, "a:");
  ScriptTrial trial(server.connection(), *script);
  for (Trial* each : std::vector<Trial*>{&model, &trial}) {
    const auto result = search_holdings(*each, kExact, Interrupt());
    CAPTURE(to_text(result.overfilled));
    CAPTURE(to_text(result.leak));
    CHECK(result.held == 10);
    CHECK(result.leaked == 0);
    CHECK_FALSE(result.overfilled);
    CHECK_FALSE(result.leak);
    CHECK(result.requests_sent >= kExact.tries);
  }
  auto all = kExact;
  all.exhaustive = 2;
  const auto on_server = search_holdings(trial, all, Interrupt());
  const auto by_model = search_holdings(model, all, Interrupt());
  CHECK(on_server.tried == by_model.tried);
  CHECK(by_model.tried.value_or(0) > 200);
  CHECK(on_server.held == 10);
  CHECK(on_server.leaked == 0);
  all.exhaustive = 3;
  const auto longer = search_holdings(model, all, Interrupt());
  CHECK(longer.held == 10);
  CHECK(longer.leaked == 0);
}

TEST_CASE("budgets: small units and short holds neither take for ever nor accuse a full table") {
  for (const bool is_of_a_day : {false, true}) {
    auto search = kExact;
    search.limit.limit = 100'000;
    search.limit.window = is_of_a_day ? 24h : 1min;
    search.units = is_of_a_day ? 400 : 1;
    search.hold = is_of_a_day ? 1s : 10s;
    search.tries = 5'000;
    HolderModelTrial model(search.limit, false);
    const auto result = search_holdings(model, search, Interrupt());
    CHECK(result.held == search.limit.limit);
    CHECK(result.leaked == 0);
    CHECK(result.requests_sent < 10 * search.tries);
  }
}

TEST_CASE("budgets: the windows of a limiter may begin with the first units spent") {
  const Answer yes{.allowed = true};
  const auto search = in_milliseconds(kExact);
  Schedule schedule;
  const auto spend = [&](microseconds at, std::int64_t actual) {
    const auto id = static_cast<std::uint32_t>(schedule.size() / 2 + 1);
    for (const auto event : {Event::kReserve, Event::kSettle}) {
      schedule.push_back({.at = kBase + at,
                          .cost = std::max<std::int64_t>(1, actual),
                          .event = event,
                          .holder = id,
                          .actual = event == Event::kSettle ? actual : 0,
                          .hold = 25s});
    }
  };
  // 19 from 2:00 to 3:00, and also after the first reservation or settle that comes after 1:10.
  spend(10s, 0);
  spend(65s, 1);
  spend(124s, 9);
  spend(126s, 10);
  CHECK(holding_score_of(schedule, Answers(8, yes), search, 0s).held == 10);
  spend(127s, 1);
  CHECK(holding_score_of(schedule, Answers(10, yes), search, 0s).held == 11);
}

TEST_CASE("budgets: a settle may exceed the limit, a reserve that follows may not") {
  const Answer yes{.allowed = true}, no{};
  const auto reserve = [](microseconds at, std::uint32_t id, std::int64_t units) {
    return rlctl::adversary::Request{
        .at = kBase + at, .cost = units, .event = Event::kReserve, .holder = id, .hold = 25s};
  };
  const rlctl::adversary::Request settle{
      .at = kBase + 1s, .cost = 4, .event = Event::kSettle, .holder = 1, .actual = 11, .hold = 25s};
  const Schedule schedule{reserve(0s, 1, 4), settle, reserve(2s, 2, 1)};
  CHECK(holding_score_of(schedule, {yes, yes, no}, kExact, 0s).held == 4);
  const auto score = holding_score_of(schedule, {yes, yes, yes}, kExact, 0s);
  CHECK(score.held == 12);
  CHECK(score.held_at == 2);
  const auto steps = holding_steps_of(schedule, {yes, yes, no}, kExact);
  CHECK(steps[1].spent == 11);
  CHECK(steps[1].held == 0);
  // A settle that the limiter refuses is not spent.
  CHECK(holding_score_of(schedule, {yes, no, yes}, kExact, 0s).held == 5);
}

TEST_CASE("budgets: units count as lost once the hold has ended for long enough") {
  const auto leaked = [&](HoldingSearch search, microseconds after) {
    const Schedule schedule{
        {.at = kBase, .cost = 4, .event = Event::kReserve, .holder = 1, .hold = 25s},
        {.at = kBase + after, .cost = 10, .event = Event::kReserve, .holder = 2, .hold = 25s}};
    return holding_score_of(schedule, {{.allowed = true}, {}}, search, 50s).leaked;
  };
  CHECK(leaked(kExact, 25s - 1us) == 0);
  CHECK(leaked(kExact, 25s) == 1);
  CHECK(leaked(in_milliseconds(kExact), 75s - 1us) == 0);
  CHECK(leaked(in_milliseconds(kExact), 75s) == 1);
}

}  // namespace adversary_budgets_test
