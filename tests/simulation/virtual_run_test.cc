// needs: server
#include "simulation/virtual_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "redis/server.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "traffic/pattern.h"

namespace rlctl::simulation::virtual_run_test {

using namespace std::chrono_literals;
using namespace redis;
using namespace test;

namespace {

const Limit kMinute{1000, 60s, {}};

Outcome run(traffic::Traffic& traffic, Decider& decider, const std::vector<Limit>& limits) {
  return run_virtually(traffic, decider, limits, Interrupt());
}

Outcome run_model(const traffic::Pattern& pattern, const traffic::PatternRequest& request,
                  const script::Candidate& candidate) {
  const auto traffic = traffic::make_traffic(pattern, request);
  ModelDecider decider(candidate);
  return run(*traffic, decider, candidate.limits);
}

Outcome run_script(Connection& connection, std::string prefix, const traffic::Pattern& pattern,
                   const traffic::PatternRequest& request, const script::Candidate& candidate) {
  const auto traffic = traffic::make_traffic(pattern, request);
  const auto script = script::make_script(candidate, *traffic, std::move(prefix));
  ScriptDecider decider(connection, *script);
  return run(*traffic, decider, candidate.limits);
}

Measured measured_of_boundary(std::string_view name) {
  return run_model(traffic::patterns().front(), {.limit = kMinute}, {&algorithm(name), {kMinute}})
      .measured;
}

/// Traffic with an incident that happens when a certain request is made.
class WithIncident final : public traffic::Traffic {
 public:
  WithIncident(std::int64_t at, std::function<void()> incident)
      : at_(at), incident_(std::move(incident)) {}

  bool next(traffic::Arrival& arrival) override {
    if (made_++ == at_) incident_();
    return traffic_->next(arrival);
  }
  std::string_view key_name(std::uint32_t key) const override { return traffic_->key_name(key); }
  std::int64_t size() const override { return traffic_->size(); }

 private:
  std::unique_ptr<traffic::Traffic> traffic_ =
      traffic::make_traffic(*traffic::find_pattern("steady"), {.limit = kMinute, .requests = 5000});
  std::int64_t at_;
  std::function<void()> incident_;
  std::int64_t made_ = 0;
};

}  // namespace

TEST_CASE(
    "a fixed window allows twice its limit around its edge, a log never more than its limit") {
  const auto measured = measured_of_boundary("fixed-window");
  CHECK(measured.allowed == 2000);
  CHECK(measured.worst.ratio == 2.0);
  CHECK(measured.worst.span == 19'990us);
  CHECK_FALSE(measured.first_denial);
  const auto of_log = measured_of_boundary("sliding-window-log");
  CHECK(of_log.allowed == 1000);
  CHECK(of_log.worst.ratio == 1.0);
  CHECK(of_log.longest_shut_out == 9'990us);
}

TEST_CASE("no algorithm breaks a promise of retry_after, whatever the traffic") {
  for (const Algorithm& row : limiter::algorithms()) {
    if (!limiter::counts_requests(row)) continue;
    std::int64_t compared = 0;
    for (const traffic::Pattern& pattern : traffic::patterns()) {
      CAPTURE(row.name);
      CAPTURE(pattern.name);
      const Limit limit{7, 1s, {}};
      const auto error =
          run_model(pattern, {.limit = limit, .keys = 3}, {&row, {limit}}).measured.retry_error;
      CHECK(error.broken == 0);
      compared += error.compared;
    }
    CHECK(compared >= 10);
  }
}

TEST_CASE("keys are the prefix plus the traffic's names, one for each limit") {
  TestServer server;
  const auto keys_of = [&](const std::vector<Limit>& limits) {
    const auto traffic = traffic::make_traffic(*traffic::find_pattern("steady"),
                                               {.limit = kMinute, .requests = 200, .keys = 2});
    const auto script =
        script::make_script({&algorithm("fixed-window"), limits}, *traffic, "burst:x:");
    ScriptDecider decider(server.connection(), *script);
    static_cast<void>(run(*traffic, decider, limits));
    return script->keys();
  };
  using Keys = std::vector<std::string>;
  CHECK(keys_of({kMinute}) == Keys{"burst:x:1", "burst:x:2"});
  CHECK(keys_of({kMinute, {5, 1s, {}}}) ==
        Keys{"burst:x:{:1}:60s", "burst:x:{:1}:1s", "burst:x:{:2}:60s", "burst:x:{:2}:1s"});
  CHECK(server.call({"DBSIZE"}).integer() == 6);
  CHECK(server.pttl("burst:x:1") > 0);
}

TEST_CASE("bytes per key are averaged over the existing keys, and unknown without a server") {
  TestServer server;
  const traffic::PatternRequest request{.limit = kMinute, .requests = 2500, .keys = 1200};
  const script::Candidate candidate{&algorithm("fixed-window"), {kMinute}};
  const auto outcome =
      run_script(server.connection(), "b:", *traffic::find_pattern("boundary"), request, candidate);
  REQUIRE(outcome.bytes_per_key);
  std::int64_t bytes = 0;
  for (int key = 1; key <= 1200; ++key) {
    bytes += server.call({"MEMORY", "USAGE", "b:" + std::to_string(key)}).integer();
  }
  CHECK(*outcome.bytes_per_key == doctest::Approx(static_cast<double>(bytes) / 1200));
  CHECK_FALSE(run_model(traffic::patterns().front(), request, candidate).bytes_per_key);
}

TEST_CASE("missing keys do not count, and without any key the number of bytes is unknown") {
  TestServer server;
  const auto traffic =
      traffic::make_traffic(traffic::patterns().front(), {.limit = kMinute, .keys = 2});
  const auto script = script::make_script({&algorithm("fixed-window"), {kMinute}}, *traffic, "b:");
  ScriptDecider decider(server.connection(), *script);
  CHECK_FALSE(decider.bytes_per_key());
  static_cast<void>(run(*traffic, decider, {kMinute}));
  const auto both = decider.bytes_per_key();
  CHECK(server.call({"DEL", "b:1"}).integer() == 1);
  CHECK(decider.bytes_per_key() == both);
  CHECK(server.call({"DEL", "b:2"}).integer() == 1);
  CHECK_FALSE(decider.bytes_per_key());
}

TEST_CASE("an error reply ends the run, and the connection can still be used") {
  TestServer server;
  CHECK(server.call({"LPUSH", "e:3", "not a counter"}).integer() == 1);
  const traffic::PatternRequest request{.limit = kMinute, .requests = 5000, .keys = 5};
  const auto error = support::error_of([&] {
    static_cast<void>(run_script(server.connection(), "e:", traffic::patterns().front(), request,
                                 {&algorithm("fixed-window"), {kMinute}}));
  });
  CHECK(error.failure() == Failure::kRejected);
  CHECK(error.code() == "WRONGTYPE");
  CHECK(server.connection().outstanding() == 0);
  CHECK(server.call({"PING"}).text() == "PONG");
}

TEST_CASE("a script that is removed during the run is an error") {
  const PrivateServer server;
  auto connection = Connection::open(server.url(), 60s);
  auto other = Connection::open(server.url(), 60s);
  WithIncident traffic(4500, [&] { static_cast<void>(other.call({"SCRIPT", "FLUSH"})); });
  const auto script = script::make_script({&algorithm("gcra"), {kMinute}}, traffic, "f:");
  ScriptDecider decider(connection, *script);
  const auto error =
      support::error_of([&] { static_cast<void>(run(traffic, decider, {kMinute})); });
  CHECK(error.code() == "NOSCRIPT");
  CHECK_FALSE(error.hint().empty());
  CHECK(connection.call({"PING"}).text() == "PONG");
}

TEST_CASE(
    "an interrupt during a call to a server loses the requests in flight and throws nothing") {
  const PrivateServer server;
  Interrupt interrupt;
  auto connection = Connection::open(server.url(), 60s, &interrupt);
  WithIncident traffic(4500, [&] { interrupt.raise(SIGINT); });
  const auto script = script::make_script({&algorithm("gcra"), {kMinute}}, traffic, "i:");
  ScriptDecider decider(connection, *script);
  const auto outcome = run_virtually(traffic, decider, {kMinute}, interrupt);
  CHECK(outcome.interrupted);
  CHECK(outcome.measured.sent > 0);
  CHECK(outcome.measured.sent <= 4500);
  CHECK_FALSE(outcome.bytes_per_key);
  CHECK(script->keys() == std::vector<std::string>{"i:1"});
}

TEST_CASE("progress is reported often, finally with the total") {
  const auto traffic = traffic::make_traffic(*traffic::find_pattern("poisson"),
                                             {.limit = kMinute, .requests = 10'001});
  ModelDecider decider({&algorithm("gcra"), {kMinute}});
  std::vector<std::int64_t> counts;
  const auto outcome = run_virtually(*traffic, decider, {kMinute}, Interrupt(), {},
                                     [&](std::int64_t count) { counts.push_back(count); });
  REQUIRE(counts.size() >= 3);
  CHECK(std::is_sorted(counts.begin(), counts.end()));
  CHECK(counts.back() == 10'001);
  CHECK_FALSE(outcome.interrupted);
}

TEST_CASE("at most ten of the denied keys are named") {
  const auto outcome = run_model(*traffic::find_pattern("steady"),
                                 {.limit = {1, 60s, {}}, .requests = 1000, .keys = 20},
                                 {&algorithm("fixed-window"), {{1, 24h, {}}}});
  CHECK(outcome.measured.keys_denied == 20);
  CHECK(outcome.top_denied.size() == 10);
}

TEST_CASE("an algorithm that cannot use a limit is refused before anything is sent") {
  const auto traffic = traffic::make_traffic(traffic::patterns().front(), {.limit = kMinute});
  const script::Candidate candidate{&algorithm("fixed-window"), {kMinute, {1, 1s, 5}}};
  CHECK_THROWS_AS(ModelDecider{candidate}, UsageError);
  CHECK_THROWS_AS(static_cast<void>(script::make_script(candidate, *traffic, "r:")), UsageError);
  CHECK_THROWS_AS(ModelDecider({&algorithm("concurrency"), {kMinute}}), UsageError);
}

TEST_CASE("a delayed request departs later than it arrives, and perhaps after the traffic") {
  const auto outcome = run_model(*traffic::find_pattern("boundary"), {.limit = {5, 60s, {}}},
                                 {&algorithm("leaky-bucket"), {{5, 60s, {}}}});
  CHECK(outcome.measured.allowed == 6);
  CHECK(outcome.timeline.end() - outcome.timeline.begin() < 1s);
  // One proceeds at once, and five in the minute after the traffic.
  CHECK(outcome.departures.end() == outcome.departures.begin());
  CHECK(outcome.later.cost == 5);
  CHECK(outcome.later.at - outcome.departures.begin() == 60s);
  const auto steady =
      run_model(*traffic::find_pattern("steady"), {.limit = {5, 60s, {}}, .requests = 40},
                {&algorithm("leaky-bucket"), {{5, 60s, {}}}});
  std::int64_t departed = 0;
  for (const auto& bin : steady.departures.bins()) departed += bin.allowed;
  CHECK(steady.departures.end() <= steady.timeline.end());
  CHECK(departed + steady.later.cost == steady.measured.allowed);
}

}  // namespace rlctl::simulation::virtual_run_test
