#include "traffic/script.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/limiters.h"
#include "traffic/pattern.h"
#include "traffic/virtual_run.h"

namespace traffic_foreign_script_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;
using rlctl::Interrupt;
using rlctl::UsageError;
using rlctl::redis::Error;
using rlctl::redis::Failure;

namespace {

const Limit kMinute{5, 60s, {}};

ForeignLimiter limiter(std::string source, const std::vector<std::string>& keys,
                       const std::vector<std::string>& arguments, ReplyReading reading = {}) {
  ForeignLimiter made{.name = "my.lua", .source = std::move(source), .reading = reading};
  for (const auto& key : keys) made.keys.emplace_back(key);
  for (const auto& argument : arguments) made.arguments.emplace_back(argument);
  return made;
}

Candidate candidate(const ForeignLimiter& limiter, const Limit& limit) {
  return {.limits = {limit}, .foreign = std::make_shared<ForeignLimiter>(limiter)};
}

/// A server, and runs of a pattern's traffic on it.
class Bench {
 public:
  Outcome run(const ForeignLimiter& asked, PatternRequest request = {.limit = kMinute},
              std::string_view pattern = "boundary") {
    const auto foreign = candidate(asked, request.limit);
    const auto traffic = make_traffic(*find_pattern(pattern), request);
    const auto script = make_script(foreign, *traffic, "p:");
    ScriptDecider decider(server.connection(), *script);
    decisions.clear();
    const auto keep = [&](const Arrival&, const Decision& decision) {
      decisions.push_back(decision);
    };
    auto outcome = run_virtually(*traffic, decider, foreign.limits, Interrupt(), keep);
    keys = script->keys();
    return outcome;
  }
  /// The error of a run that fails.
  Error error(const ForeignLimiter& asked, const PatternRequest& request = {.limit = kMinute}) {
    try {
      run(asked, request);
    } catch (const Error& error) {
      return error;
    }
    FAIL("no error");
    return {Failure::kUsage, ""};
  }
  std::vector<std::string> list(std::string_view key) {
    const auto reply = server.call({"LRANGE", key, "0", "-1"});
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < reply.size(); ++i) elements.emplace_back(reply[i].text());
    return elements;
  }

  TestServer server;
  std::vector<Decision> decisions;
  std::vector<std::string> keys;
};

}  // namespace

TEST_CASE("foreign script: its keys are prefixed and its templates are filled in") {
  Bench bench;
  bench.run(limiter("redis.call('RPUSH', KEYS[1], KEYS[2], ARGV[1], ARGV[2]) return 1",
                    {"seen:{key}", "{{key}}:{window_index}"}, {"{id} {cost}", "{now_us}"}),
            {.limit = {1, 60s, {}}, .cost = 3});
  const std::vector<std::string> seen{
      "p:{1}:29453760", "1 3", "1767225659990000",  // the last 10 ms of a minute
      "p:{1}:29453761", "2 3", "1767225660000000"};
  CHECK(bench.list("p:seen:1") == seen);
  CHECK(bench.keys == std::vector<std::string>{"p:seen:1", "p:{1}:29453760", "p:{1}:29453761"});
}

TEST_CASE("foreign script: it decides and is measured like any other") {
  Bench bench;
  const auto outcome =
      bench.run(limiter(R"(local n = redis.call('INCR', KEYS[1])
                                            return n)",
                        {"{key}:{window_index}"}, {}, {.allowed_when = AllowedWhen::kAtMostLimit}));
  CHECK(outcome.measured.sent == 10);
  CHECK(outcome.measured.allowed == 10);
  CHECK(outcome.measured.worst.ratio == 2.0);
  CHECK(outcome.bytes_per_key > 0);
  const auto none = bench.run(limiter("return 0", {"{key}"}, {"{now}"}));
  CHECK(none.measured.denied == 10);
  CHECK(none.measured.retry_error.compared == 0);
}

TEST_CASE("foreign script: one of rlctl's own scripts decides the same as a foreign one") {
  Bench bench;
  const PatternRequest request{.limit = {7, 1s, {}}, .requests = 5000, .keys = 3, .cost = 2};
  for (const std::string name : {"sliding-window-log", "token-bucket"}) {
    const auto& own = algorithm(name);
    const auto foreign = bench.run(limiter(std::string(own.script), {name + ":{key}"},
                                           {"{limit}", "{window_us}", "", "{cost}", "{now_us}"}),
                                   request, "poisson");
    const auto traffic = make_traffic(*find_pattern("poisson"), request);
    ModelDecider model({&own, {request.limit}});
    std::vector<bool> allowed;
    static_cast<void>(run_virtually(
        *traffic, model, {request.limit}, Interrupt(),
        [&](const Arrival&, const Decision& decision) { allowed.push_back(decision.allowed); }));
    REQUIRE(allowed.size() == 5000);
    CHECK(std::equal(allowed.begin(), allowed.end(), bench.decisions.begin(), bench.decisions.end(),
                     [](bool one, const Decision& other) { return one == other.allowed; }));
    CHECK(foreign.measured.denied > 500);
  }
}

TEST_CASE("foreign script: a wait in the reply is a promise that may be broken") {
  Bench bench;
  // It replies one second, and then keeps denying.
  const auto outcome = bench.run(limiter("return ARGV[1] % 60 < 50 and 1 or 0", {"{key}"},
                                         {"{now_s}"}, {AllowedWhen::kZero, 1s}),
                                 {.limit = {1, 10s, {}}, .rate = 1, .duration = 120s}, "steady");
  CHECK(outcome.measured.retry_error.compared >= 1);
  CHECK(outcome.measured.retry_error.broken >= 1);
}

TEST_CASE("foreign script: an error ends the run and is reported with its line and the request") {
  Bench bench;
  const auto error =
      bench.error(limiter("local n = tonumber(ARGV[2])\n"
                          "if n == 7 then\n"
                          "  return redis.call('LPUSH', KEYS[2], 'x')\n"
                          "end\n"
                          "redis.call('SET', KEYS[2], 'it is')\n"
                          "return 1",
                          {"{key}", "a b"}, {"{now_us}", "{id}", "", "\n"}));
  CHECK(error.failure() == Failure::kRejected);
  CHECK(error.code() == "WRONGTYPE");
  CHECK(std::string(error.what()).starts_with("my.lua:3: WRONGTYPE Operation against a key"));
  CHECK(std::string(error.what())
            .ends_with(
                "; request 7 had KEYS 'p:1' 'p:a b' and ARGV '1767225660002000' '7' '' '\\n'"));
  CHECK(bench.server.connection().outstanding() == 0);
  CHECK(bench.server.call({"PING"}).text() == "PONG");
}

TEST_CASE("foreign script: the one failed request among many is named") {
  Bench bench;
  const auto error = bench.error(
      limiter("if ARGV[1] == '4711' then error('boom') end return 1", {"{key}"}, {"{id}", "{now}"}),
      {.limit = {1000, 60s, {}}, .keys = 3});
  CHECK(std::string(error.what())
            .starts_with("my.lua:1: boom; request 4711 had KEYS 'p:1' and ARGV '4711' "));
}

TEST_CASE("foreign script: the message of its own error is reported alone") {
  Bench bench;
  const auto error =
      bench.error(limiter("return redis.error_reply('ERR bad limit')", {}, {"{now}"}));
  CHECK(std::string(error.what()) ==
        "my.lua: bad limit; request 1 had KEYS none and ARGV '1767225659.990000'");
}

TEST_CASE("foreign script: an unreadable reply is an error that shows it") {
  Bench bench;
  const auto error = bench.error(limiter("return redis.status_reply('QUEUED')", {}, {"{now}"}));
  CHECK(error.failure() == Failure::kRejected);
  CHECK(std::string(error.what()).starts_with("my.lua replied 'QUEUED', but --allowed-when"));
}

TEST_CASE("foreign script: a compile error is reported with its line") {
  Bench bench;
  const auto error = bench.error(limiter("local x = 1\nlocal y = = 2\n", {"{key}"}, {"{now}"}));
  CHECK(error.failure() == Failure::kRejected);
  CHECK(std::string(error.what()) ==
        "my.lua:2: Error compiling script (new function): unexpected symbol near '='");
}

TEST_CASE("foreign script: a script without the time is refused before anything is sent") {
  Bench bench;
  const auto ttl = limiter("return redis.call('INCR', KEYS[1])", {"{key}"}, {"{window_s}"});
  CHECK_THROWS_AS(bench.run(ttl), UsageError);
  CHECK(bench.server.call({"DBSIZE"}).integer() == 0);
  try {
    bench.run(ttl);
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find("my.lua is not told the time") == 0);
    CHECK(std::string(error.what()).find("relies on the TTLs of its keys") != std::string::npos);
  }
}

TEST_CASE("foreign script: a script that relies on a TTL runs in virtual time") {
  Bench bench;
  const auto first_request = limiter(R"(
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
if count > 5 then return 0 end
return 1)",
                                     {"{key}"}, {"{window_s}", "{now}"});
  // One per second: the first 5 of each minute, counted from its first one.
  const auto outcome = bench.run(
      first_request, {.limit = kMinute, .rate = 1, .duration = std::chrono::minutes{5}}, "steady");
  CHECK(outcome.measured.sent == 300);
  CHECK(outcome.measured.allowed == 25);
  CHECK(bench.decisions[59].allowed == false);
  CHECK(bench.decisions[60].allowed);
}

TEST_CASE("foreign script: TTLs are aged only for a script that may set one") {
  const auto hash_of = [](const std::string& source, const std::vector<std::string>& arguments) {
    const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
    const auto asked = candidate(limiter(source, {"{key}"}, arguments), kMinute);
    return make_script(asked, *traffic, "p:")->key_of_ttls();
  };
  CHECK_FALSE(hash_of("return redis.call('INCR', KEYS[1])", {"{now}"}));
  CHECK(hash_of("redis.call('pexpire', KEYS[1], 5) return 1", {"{now}"}) == "p:rlctl:ttls");
  CHECK(hash_of("redis.call('SET', KEYS[1], 1, ARGV[2], 5) return 1", {"{now}", "px"}));
}

TEST_CASE("foreign script: a call of TIME is noticed, even a rare one") {
  Bench bench;
  const auto seldom = limiter("if ARGV[1] == '3000' then redis.call('time') end return 1",
                              {"{key}"}, {"{id}", "{now}"});
  CHECK_NOTHROW(bench.run(seldom));
  CHECK_THROWS_WITH_AS(bench.run(seldom, {.limit = {4000, 60s, {}}}),
                       "my.lua calls TIME: it uses the server's clock, not the virtual one; "
                       "use --clock real, with a pattern or a log",
                       UsageError);
  CHECK(bench.server.call({"PING"}).text() == "PONG");
  const auto late = limiter("if tonumber(ARGV[1]) > 7000 then redis.call('TIME') end return 1",
                            {"{key}"}, {"{id}", "{now}"});
  CHECK_THROWS_AS(bench.run(late, {.limit = {4000, 60s, {}}}), UsageError);
}

TEST_CASE("foreign script: a script that only could call TIME is not suspected") {
  Bench bench;
  const auto& own = algorithm("gcra");  // calls TIME only if no time is given
  CHECK(own.script.find("'TIME'") != own.script.npos);
  const auto told =
      limiter(std::string(own.script), {"{key}"}, {"{limit}", "{window_us}", "", "", "{now_us}"});
  CHECK(bench.run(told).measured.allowed == 5);
  const auto not_told =
      limiter(std::string(own.script), {"{key}:{window_index}"}, {"{limit}", "{window_us}"});
  CHECK_THROWS_AS(bench.run(not_told), UsageError);
}

TEST_CASE("foreign script: other clients' scripts that call TIME do not make it suspect") {
  Bench bench;
  const auto source = "-- the time\nreturn 1";
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto asked = candidate(limiter(source, {"{key}"}, {"{now}"}), kMinute);
  const auto script = make_script(asked, *traffic, "p:");
  ScriptDecider decider(bench.server.connection(), *script);
  CHECK(script->may_call_time());
  bench.server.eval("return redis.call('TIME')", {}, {});
  const Arrival arrival{.at = 1s};
  Decision decision;
  CHECK_NOTHROW(decider.decide({&arrival, 1}, {&decision, 1}));
  CHECK(decision.allowed);
}

TEST_CASE("foreign script: a limit that does not fit its templates, or a bad reading, is refused") {
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto seconds =
      candidate(limiter("return 1", {"{key}"}, {"{window_s}", "{now}"}), {5, 1500ms, {}});
  CHECK_THROWS_AS(static_cast<void>(make_script(seconds, *traffic, "p:")), UsageError);
  const auto wait =
      candidate(limiter("return 1", {"{key}"}, {"{now}"}, {AllowedWhen::kNonzero, 1s}), kMinute);
  CHECK_THROWS_AS(static_cast<void>(make_script(wait, *traffic, "p:")), UsageError);
}

TEST_CASE("foreign script: it has a name but no model") {
  const auto foreign = candidate(limiter("return 1", {}, {"{now}"}), kMinute);
  CHECK(name_of(foreign) == "my.lua");
  CHECK(name_of({&algorithm("gcra"), {kMinute}}) == "gcra");
  CHECK_NOTHROW(require_usable(foreign));
  CHECK_THROWS_AS(ModelDecider{foreign}, UsageError);
}

}  // namespace traffic_foreign_script_test
