// needs: server
#include "simulation/suggestion.h"

#include <doctest/doctest.h>

#include <csignal>

#include "simulation/virtual_run.h"
#include "support/limiters.h"
#include "traffic/pattern.h"

namespace rlctl::simulation::suggestion_test {

using namespace std::chrono_literals;
using namespace test;

namespace {

/// Random traffic of 50 keys.
std::unique_ptr<traffic::Traffic> many_keys() {
  return traffic::make_traffic(*traffic::find_pattern("poisson"),
                               {.limit = {100, 10s, {}}, .rate = 200, .duration = 30s, .keys = 50});
}

Suggestion suggest(std::string_view name, const DeniedShare& share,
                   const MakeTraffic& traffic = many_keys) {
  const Interrupt interrupt;
  return suggest_limit(traffic, {&algorithm(name), {{1, 10s, {}}}}, share, interrupt);
}

Measured measured_with(std::string_view name, std::int64_t limit) {
  const script::Candidate candidate{&algorithm(name), {{limit, 10s, {}}}};
  ModelDecider decider(candidate);
  const Interrupt interrupt;
  return run_virtually(*many_keys(), decider, candidate.limits, interrupt).measured;
}

}  // namespace

TEST_CASE("the suggested limit is the smallest that meets the target, and one less does not") {
  for (const auto* name : {"fixed-window", "sliding-window-log", "sliding-window-counter", "gcra",
                           "token-bucket", "leaky-bucket"}) {
    CAPTURE(name);
    for (const bool of_keys : {false, true}) {
      const auto suggestion = suggest(name, {.most = 0.05, .of_keys = of_keys});
      REQUIRE(suggestion.chosen);
      const auto chosen = suggestion.tried[*suggestion.chosen];
      CHECK(chosen.limit > 1);
      const auto enough = measured_with(name, chosen.limit);
      const auto less = measured_with(name, chosen.limit - 1);
      CHECK(chosen.denied == enough.denied);
      CHECK(chosen.keys_denied == enough.keys_denied);
      const auto share = [of_keys](const Measured& measured) {
        return of_keys
                   ? static_cast<double>(measured.keys_denied) / static_cast<double>(measured.keys)
                   : static_cast<double>(measured.denied) / static_cast<double>(measured.sent);
      };
      CHECK(share(enough) <= 0.05);
      CHECK(share(less) > 0.05);
    }
  }
}

TEST_CASE("the limits around it are reported too, smallest first") {
  const auto suggestion = suggest("sliding-window-log", {.most = 0.01});
  REQUIRE(suggestion.tried.size() == 8);
  REQUIRE(suggestion.chosen == 3);
  for (std::size_t i = 1; i < suggestion.tried.size(); ++i) {
    CHECK(suggestion.tried[i - 1].limit < suggestion.tried[i].limit);
    CHECK(suggestion.tried[i - 1].denied >= suggestion.tried[i].denied);
  }
  CHECK(suggestion.tried.back().limit == 2 * suggestion.tried[3].limit);
}

TEST_CASE("a limit equal to the highest count denies nothing") {
  const auto suggestion = suggest("sliding-window-log", {.most = 0});
  const auto unlimited = measured_with("sliding-window-log", 1'000'000'000);
  REQUIRE(suggestion.chosen);
  CHECK(suggestion.tried[*suggestion.chosen].limit == unlimited.worst.allowed);
}

TEST_CASE("if everything may be denied, the smallest possible limit is suggested") {
  const auto suggestion = suggest("gcra", {.most = 1});
  REQUIRE(suggestion.chosen == 0);
  CHECK(suggestion.tried[0].limit == 1);
}

TEST_CASE("if the burst is too small, no limit is suggested") {
  const Interrupt interrupt;
  const auto boundary = [] {
    return traffic::make_traffic(traffic::patterns().front(),
                                 {.limit = {1000, 60s, {}}, .requests = 10'000});
  };
  const auto suggestion =
      suggest_limit(boundary, {&algorithm("gcra"), {{1, 24h * 300, 1}}}, {.most = 0}, interrupt);
  CHECK_FALSE(suggestion.chosen);
  REQUIRE(suggestion.tried.size() == 1);
  CHECK(suggestion.tried[0].limit == 1'000'000'000);
  CHECK(suggestion.tried[0].denied > 0);
}

TEST_CASE("an interrupt ends the search") {
  Interrupt interrupt;
  int calls = 0;
  const auto progress = [&](double share, std::int64_t limit) {
    CHECK(share >= 0);
    CHECK(share <= 1);
    CHECK(limit >= 1);
    if (++calls == 3) interrupt.raise(SIGINT);
  };
  CHECK_THROWS_AS(static_cast<void>(suggest_limit(many_keys, {&algorithm("gcra"), {{1, 10s, {}}}},
                                                  {.most = 0.01}, interrupt, progress)),
                  Interrupted);
  CHECK(calls < 10);
}

TEST_CASE("several windows cannot have one suggested limit") {
  const Interrupt interrupt;
  CHECK_THROWS_AS(
      static_cast<void>(suggest_limit(many_keys, {&algorithm("gcra"), {{1, 10s, {}}, {1, 1s, {}}}},
                                      {.most = 0.01}, interrupt)),
      UsageError);
}

TEST_CASE("limits that are invalid with the burst are not tried") {
  const Interrupt interrupt;
  // burst × window / limit is at most 4e15, so that the limit is at least 216; limit × burst is at
  // most 2^53.
  const script::Candidate candidate{&algorithm("gcra"), {{1000, 24h * 10, 1'000'000}}};
  const auto all = suggest_limit(many_keys, candidate, {.most = 1}, interrupt);
  REQUIRE(all.chosen == 0);
  CHECK(all.tried[0].limit == 216);

  // The cost of each request alone exceeds the burst.
  const auto dear = [] {
    return traffic::make_traffic(*traffic::find_pattern("steady"),
                                 {.limit = {10, 1s, {}}, .requests = 5, .cost = 100'000'001});
  };
  const script::Candidate small_burst{&algorithm("gcra"), {{1000, 1s, 100'000'000}}};
  const auto none = suggest_limit(dear, small_burst, {.most = 0.5}, interrupt);
  CHECK_FALSE(none.chosen);
  REQUIRE(none.tried.size() == 1);
  CHECK(none.tried[0].limit == (std::int64_t{1} << 53) / 100'000'000);
}

}  // namespace rlctl::simulation::suggestion_test
