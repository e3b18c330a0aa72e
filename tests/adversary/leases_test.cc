// needs: server
#include "adversary/holdings.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/limiters.h"

namespace adversary_leases_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::adversary;
using namespace rlctl::test;
using rlctl::adversary::Schedule;
using rlctl::traffic::Event;

namespace {

constexpr microseconds kBase{2'524'608'000'000'000};
const Limit kTwo{2, 10s, {}};
const HoldingSearch kOne{.limit = {1, 10s, {}}, .has_leases = true};

std::string to_text(const HoldingFinding& finding) {
  std::string text;
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const auto& request = finding.schedule[i];
    text += std::to_string((request.at - kBase) / 1ms) + " h" + std::to_string(request.holder) +
            " " + std::string(rlctl::traffic::event_name(request.event)) +
            (finding.answers[i].allowed ? ", " : " denied, ");
  }
  return text;
}
std::string to_text(const std::optional<HoldingFinding>& finding) {
  return finding ? to_text(*finding) : "none";
}

}  // namespace

TEST_CASE("leases: nothing is found in concurrency, nor in its model") {
  const HoldingSearch request{.limit = kTwo, .has_leases = true, .tries = 10'000, .base = kBase};
  HolderModelTrial model(kTwo, true);
  TestServer server;
  const TrialKeys keys;
  const auto script = rlctl::script::make_script({&algorithm("concurrency"), {kTwo}}, keys, "a:");
  ScriptTrial trial(server.connection(), *script);
  for (Trial* each : std::vector<Trial*>{&model, &trial}) {
    const auto result = search_holdings(*each, request, Interrupt());
    CAPTURE(to_text(result.overfilled));
    CAPTURE(to_text(result.leak));
    CHECK(result.held == 2);
    CHECK(result.leaked == 0);
    CHECK_FALSE(result.overfilled);
    CHECK_FALSE(result.leak);
    CHECK(result.requests_sent >= request.tries);
  }
  auto all = request;
  all.exhaustive = 3;
  const auto on_server = search_holdings(trial, all, Interrupt());
  const auto by_model = search_holdings(model, all, Interrupt());
  CHECK(on_server.tried == by_model.tried);
  CHECK(on_server.held == 2);
  CHECK(on_server.leaked == 0);
}

TEST_CASE("leases: a lapse is no finding, and a late renewal makes a lease run again") {
  const Schedule schedule{{.at = 0s, .holder = 1},
                          {.at = 10s, .holder = 2},
                          {.at = 11s, .event = Event::kRenew, .holder = 1}};
  const Answer yes{.allowed = true}, no{};
  CHECK(holding_score_of(schedule, {yes, yes, no}, kOne, 20s).held == 1);
  const auto score = holding_score_of(schedule, {yes, yes, yes}, kOne, 20s);
  CHECK(score.held == 2);
  CHECK(score.held_at == 2);
}

TEST_CASE("leases: a slot counts as lost once it has been free for long enough") {
  const auto leaked = [&](microseconds after) {
    const Schedule schedule{{.at = 0s, .holder = 1}, {.at = after, .holder = 2}};
    return holding_score_of(schedule, {{.allowed = true}, {}}, kOne, 20s).leaked;
  };
  CHECK(leaked(10s) == 0);
  CHECK(leaked(30s - 1us) == 0);
  CHECK(leaked(30s) == 1);
}

}  // namespace adversary_leases_test
