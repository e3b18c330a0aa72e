// needs: server
#include "adversary/budgets.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "support/foreign_bench.h"
#include "support/limiters.h"
#include "support/recordings.h"

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

/// A budget, and what is wrong with it. It is one script, to which {event} says what is asked.
struct FlawedBudget {
  std::string what = {};
  /// Lua: ends the holds that have ended; gives back a settled reservation `its`, which is nil if
  /// it is unknown; reserves.
  std::string lapse = {}, settle = {}, reserve = {};
  bool overfills = false, leaks = false, leaks_for_ever = false;
};

const std::string kLapse =
    "for id, its in pairs(budget.holds) do\n"
    "  if its.ends <= now and its.units > 0 then budget.held, its.units = budget.held - its.units, "
    "0 end\n"
    "  if its.ends + hold <= now then budget.holds[id] = nil end\n"
    "end\n";
const std::string kSettle =
    "if not its or its.settled then return 0 end\n"
    "budget.held, budget.spent = budget.held - its.units, budget.spent + actual\n"
    "its.units, its.settled = 0, true\n";
const std::string kReserve =
    "if its then return 1 end\n"
    "if budget.spent + budget.held + units > limit then return 0 end\n"
    "budget.held, budget.holds[id] = budget.held + units, {units = units, ends = now + hold}\n";

const std::vector<FlawedBudget> kBudgets{
    {.what = "without a flaw", .lapse = kLapse, .settle = kSettle, .reserve = kReserve},
    {.what = "nothing ends a hold",
     .settle = kSettle,
     .reserve = kReserve,
     .leaks = true,
     .leaks_for_ever = true},
    {.what = "a settle that comes twice is spent twice",
     .lapse = kLapse,
     .settle = "if not its then return 0 end\n"
               "budget.held, budget.spent = budget.held - its.units, budget.spent + actual\n"
               "its.units = 0\n",
     .reserve = kReserve,
     .leaks = true},
    {.what = "a settle gives back the units again after the hold has ended",
     .lapse = kLapse,
     .settle = "if not its or its.settled then return 0 end\n"
               "budget.held, budget.spent = budget.held - units, budget.spent + actual\n"
               "its.units, its.settled = 0, true\n",
     .reserve = kReserve,
     .overfills = true},
    {.what = "a settle gives back the units of whoever it is",
     .lapse = kLapse,
     .settle = "budget.held, budget.spent = budget.held - units, budget.spent + actual\n"
               "if its then its.units = 0 end\n",
     .reserve = kReserve,
     .overfills = true,
     .leaks = true},
    {.what = "a late settle is forgotten",
     .lapse = kLapse,
     .settle = "if not its or its.settled or its.units == 0 then return 0 end\n"
               "budget.held, budget.spent = budget.held - its.units, budget.spent + actual\n"
               "its.units, its.settled = 0, true\n",
     .reserve = kReserve,
     .overfills = true},
    {.what = "the actual cost is not spent",
     .lapse = kLapse,
     .settle = "if not its or its.settled then return 0 end\n"
               "budget.held = budget.held - its.units\n"
               "its.units, its.settled = 0, true\n",
     .reserve = kReserve,
     .overfills = true},
    {.what = "a settle spends no more than the units",
     .lapse = kLapse,
     .settle = "if not its or its.settled then return 0 end\n"
               "budget.held = budget.held - its.units\n"
               "budget.spent = budget.spent + math.min(actual, units)\n"
               "its.units, its.settled = 0, true\n",
     .reserve = kReserve,
     .overfills = true},
    {.what = "one that is asked for again is held twice",
     .lapse = kLapse,
     .settle = kSettle,
     .reserve = "if budget.spent + budget.held + units > limit then return 0 end\n"
                "budget.held = budget.held + units\n"
                "budget.holds[id] = {units = units, ends = now + hold}\n",
     .leaks = true,
     .leaks_for_ever = true},
};

std::string source_of(const FlawedBudget& budget) {
  return "local limit, window, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])\n"
         "local id, units, hold, actual = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), "
         "tonumber(ARGV[8])\n"
         "local stored = redis.call('GET', KEYS[1])\n"
         "local budget = stored and cjson.decode(stored) or {spent = 0, held = 0, holds = {}}\n"
         "local number = math.floor(now / window)\n"
         "if budget.number ~= number then budget.number, budget.spent = number, 0 end\n" +
         budget.lapse + "local its = budget.holds[id]\nif ARGV[1] == 'settle' then\n" +
         budget.settle + "else\n" + budget.reserve +
         "end\nredis.call('SET', KEYS[1], cjson.encode(budget))\nreturn 1";
}

rlctl::traffic::Candidate candidate_of(const std::string& reserve, const std::string& settle,
                                       const HoldingSearch& search,
                                       const std::vector<std::string>& words) {
  auto script = foreign::limiter(reserve, {"budget:{key}"}, words);
  script.hold = search.hold;
  if (!settle.empty()) {
    auto settler = foreign::limiter(settle, {"budget:{key}"}, words);
    settler.hold = search.hold;
    script.ending = std::make_shared<rlctl::traffic::ForeignLimiter>(settler);
  }
  return foreign::candidate(script, search.limit);
}

HoldingSearchResult search_script(const rlctl::traffic::Candidate& candidate,
                                  const HoldingSearch& search) {
  TestServer server;
  const TrialKeys keys;
  const auto script = rlctl::traffic::make_script(candidate, keys, "a:");
  ScriptTrial trial(server.connection(), *script,
                    {.server = &server.server(), .ttl_tolerance = 20ms});
  return search_budgets(trial, search, Interrupt());
}

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

TEST_CASE("budgets: each planted flaw is found, and nothing in a sound script") {
  const auto search = in_milliseconds(kExact);
  for (const auto& budget : kBudgets) {
    const auto candidate = candidate_of(source_of(budget), "", search,
                                        {"{event}", "{limit}", "{window_ms}", "{now_ms}",
                                         "{reservation}", "{cost}", "{hold_ms}", "{actual}"});
    const auto result = search_script(candidate, search);
    CAPTURE(budget.what);
    CAPTURE(to_text(result.overfilled));
    CAPTURE(to_text(result.leak));
    CHECK(result.overfilled.has_value() == budget.overfills);
    CHECK((result.held > 10) == budget.overfills);
    CHECK(result.leak.has_value() == budget.leaks);
    CHECK((result.leaked > 0) == budget.leaks);
    CHECK(result.leaks_for_ever == budget.leaks_for_ever);
    CHECK_FALSE(result.interrupted);
  }
}

TEST_CASE("budgets: a refund after the hold has ended is shown by four events at most") {
  const std::filesystem::path folder =
      std::filesystem::path(RLCTL_TESTS_DIR) / ".." / "examples" / "pitfalls";
  auto search = in_milliseconds(kExact);
  search.units = 10;
  search.hold = 10s;
  const auto candidate = candidate_of(
      content_of(folder / "double-refund.lua"), content_of(folder / "double-refund-settle.lua"),
      search,
      {"{limit}", "{window_ms}", "{now_ms}", "{reservation}", "{cost}", "{hold_ms}", "{actual}"});
  const auto result = search_script(candidate, search);
  CAPTURE(to_text(result.overfilled));
  REQUIRE(result.overfilled);
  CHECK(result.overfilled->schedule.size() == 4);
  CHECK(result.overfilled->score.held == 20);
}

TEST_CASE("budgets: nothing is found in budget, nor in its model") {
  BudgetModelTrial model(kExact.limit);
  TestServer server;
  const TrialKeys keys;
  const auto script =
      rlctl::traffic::make_script({&algorithm("budget"), {kExact.limit}}, keys, "a:");
  ScriptTrial trial(server.connection(), *script);
  for (Trial* each : std::vector<Trial*>{&model, &trial}) {
    const auto result = search_budgets(*each, kExact, Interrupt());
    CAPTURE(to_text(result.overfilled));
    CAPTURE(to_text(result.leak));
    CHECK(result.held == 10);
    CHECK(result.leaked == 0);
    CHECK_FALSE(result.overfilled);
    CHECK_FALSE(result.leak);
    CHECK(result.requests_sent >= kExact.tries);
  }
  trial.note_contents();
  const auto on_server = search_all_budgets(trial, kExact, 2, Interrupt());
  const auto by_model = search_all_budgets(model, kExact, 2, Interrupt());
  CHECK(on_server.tried == by_model.tried);
  CHECK(by_model.tried.value_or(0) > 200);
  CHECK(on_server.held == 10);
  CHECK(on_server.leaked == 0);
  const auto longer = search_all_budgets(model, kExact, 3, Interrupt());
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
    BudgetModelTrial model(search.limit);
    const auto result = search_budgets(model, search, Interrupt());
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
  CHECK(budget_score_of(schedule, Answers(8, yes), search, 0s).held == 10);
  spend(127s, 1);
  CHECK(budget_score_of(schedule, Answers(10, yes), search, 0s).held == 11);
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
  CHECK(budget_score_of(schedule, {yes, yes, no}, kExact, 0s).held == 4);
  const auto score = budget_score_of(schedule, {yes, yes, yes}, kExact, 0s);
  CHECK(score.held == 12);
  CHECK(score.held_at == 2);
  const auto steps = budget_steps_of(schedule, {yes, yes, no}, kExact);
  CHECK(steps[1].spent == 11);
  CHECK(steps[1].held == 0);
  // A settle that the limiter refuses is not spent.
  CHECK(budget_score_of(schedule, {yes, no, yes}, kExact, 0s).held == 5);
}

TEST_CASE("budgets: units count as lost once the hold has ended for long enough") {
  const auto leaked = [&](HoldingSearch search, microseconds after) {
    const Schedule schedule{
        {.at = kBase, .cost = 4, .event = Event::kReserve, .holder = 1, .hold = 25s},
        {.at = kBase + after, .cost = 10, .event = Event::kReserve, .holder = 2, .hold = 25s}};
    return budget_score_of(schedule, {{.allowed = true}, {}}, search, 50s).leaked;
  };
  CHECK(leaked(kExact, 25s - 1us) == 0);
  CHECK(leaked(kExact, 25s) == 1);
  CHECK(leaked(in_milliseconds(kExact), 75s - 1us) == 0);
  CHECK(leaked(in_milliseconds(kExact), 75s) == 1);
}

}  // namespace adversary_budgets_test
