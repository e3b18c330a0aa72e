#include "traffic/script.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "lua/substitute.h"
#include "support/limiters.h"
#include "traffic/key_aging.h"
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
  const auto outcome = bench.run(limiter(R"(local n = redis.call('INCR', KEYS[1])
                                            return n)",
                                         {"{key}:{window_index}"}, {},
                                         {.allowed_when = parse_allowed_when("<=limit")}));
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
                                         {"{now_s}"}, {parse_allowed_when("zero"), 1s}),
                                 {.limit = {1, 10s, {}}, .rate = 1, .duration = 120s}, "steady");
  CHECK(outcome.measured.retry_error.compared >= 1);
  CHECK(outcome.measured.retry_error.broken >= 1);
}

TEST_CASE("foreign script: what it says remains is compared with what it allows") {
  Bench bench;
  // A sorted set as a log, which replies {allowed, remaining, reset in ms}, each a little wrong.
  const std::string log = R"(
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
local used = redis.call('ZCARD', KEYS[1])
local allowed = used < tonumber(ARGV[3]) and 1 or 0
if allowed == 1 then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[4])
  used = used + 1
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return {allowed, ARGV[3] - used + ARGV[5], (last - ARGV[1]) / 1000 + ARGV[6]})";
  const auto run = [&](const std::string& more, const std::string& later) {
    bench.server.call({"FLUSHALL"});
    return bench
        .run(limiter(log, {"{key}"}, {"{cutoff_us}", "{now_us}", "{limit}", "{id}", more, later},
                     {.allowed_when = parse_allowed_when("r[1] == 1"),
                      .remaining = parse_number_expression("r[2]"),
                      .reset_after = parse_wait_expression("r[3] ms")}))
        .measured;
  };
  CHECK(run("0", "0").remaining_error == RemainingError{10, 0, 0});
  CHECK(run("0", "0").reset_error == ResetError{10, 0us, 0us});
  CHECK(run("2", "0").remaining_error == RemainingError{10, 2, 0});
  CHECK(run("-1", "3").remaining_error == RemainingError{10, 0, 1});
  CHECK(run("-1", "3").reset_error == ResetError{10, 0us, 3ms});
  CHECK(run("0", "-7").reset_error == ResetError{10, 7ms, 0us});
}

TEST_CASE("foreign script: an expression may use the number and the time of its request") {
  Bench bench;
  const auto outcome = bench.run(limiter(
      "return {ARGV[1], ARGV[2]}", {"{key}"}, {"{id}", "{now_us}"},
      {.allowed_when = parse_allowed_when("r[1] == id and r[2] == now_us and id <= limit")}));
  CHECK(outcome.measured.allowed == 5);
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

TEST_CASE("foreign script: it has a clock if it is told the time, calls TIME or sets a TTL") {
  CHECK(lacks_clock(limiter("return redis.call('INCR', KEYS[1])", {"{key}"}, {"{window_s}"})));
  CHECK_FALSE(lacks_clock(limiter("return 1", {"{key}:{window_index}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("return 1", {"{key}"}, {"{now}"})));
  CHECK_FALSE(lacks_clock(limiter("return redis.call('time')[1]", {"{key}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("redis.call('EXPIRE', KEYS[1], 5)", {"{key}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("redis.call(ARGV[1], KEYS[1], 5)", {"{key}"}, {"pexpire"})));
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

TEST_CASE("foreign script: TIME replies the time of the request, however it is called") {
  for (const auto* source : {
           "return redis.call('TIME')",
           "return redis.pcall('time')",
           "local call = redis.call return call('Time')",
           "local clock = {now = redis.call} return clock.now('TIME')",
           "local r = redis return r['call']('TIME')",
           "return coroutine.wrap(function() return redis.call('TIME') end)()",
           "local function ask(...) return redis.call(...) end return ask('TIME')",
           "local ok, t = pcall(redis.call, 'TIME') return ok and t",
       }) {
    CAPTURE(source);
    TestServer server;
    const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
    const auto asked = candidate(limiter(source, {"{key}"}, {}), kMinute);
    const auto script = make_script(asked, *traffic, "p:");
    script->load(server.connection());
    script->call({.at = std::chrono::microseconds{1'234'567'000'089}})
        .append_to(server.connection());
    const auto reply = server.connection().read();
    CHECK(reply_text(reply) == "['1234567', '89']");
  }
}

TEST_CASE(
    "foreign script: the substitute for TIME shows neither in ARGV nor in the lines of errors") {
  TestServer server;
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto asked =
      candidate(limiter("local t = redis.call('TIME')\nif t[1] == '7' then\n  error('x')\nend\n"
                        "return {#ARGV, ARGV[1], ARGV[2], #KEYS, unpack(ARGV)}",
                        {"{key}"}, {"{limit}", "x"}),
                kMinute);
  const auto script = make_script(asked, *traffic, "p:");
  script->load(server.connection());
  script->call({.at = 5s}).append_to(server.connection());
  CHECK(reply_text(server.connection().read()) == "[2, '5', 'x', 1, '5', 'x']");
  const Arrival failing{.at = 7s};
  script->call(failing).append_to(server.connection());
  try {
    static_cast<void>(script->parse(server.connection().read(), {}, 1));
    FAIL("no error");
  } catch (const rlctl::redis::Error& error) {
    CHECK(std::string(error.what()).starts_with("my.lua:3: "));
    CHECK(std::string(script->with_question(error, failing, 2).what())
              .ends_with("; request 2 had KEYS 'p:1' and ARGV '5' 'x'"));
  }
}

TEST_CASE("foreign script: a script that finds the server's TIME is noticed, even if it is rare") {
  constexpr const char* kMessage =
      "my.lua gets the server's time: it finds TIME in _G or in code from a string, where rlctl "
      "cannot put the virtual one; call redis.call('TIME') by its name, or use --clock real, with "
      "a pattern or a log";
  Bench bench;
  const auto seldom = limiter("if ARGV[1] == '3000' then _G.redis.call('time') end return 1",
                              {"{key}"}, {"{id}", "{now}"});
  CHECK_NOTHROW(bench.run(seldom));
  CHECK_THROWS_WITH_AS(bench.run(seldom, {.limit = {4000, 60s, {}}}), kMessage, UsageError);
  CHECK(bench.server.call({"PING"}).text() == "PONG");
  const auto late = limiter(
      "if tonumber(ARGV[1]) > 7000 then loadstring('return redis.call(\"TIME\")')() end return 1",
      {"{key}"}, {"{id}", "{now}"});
  CHECK_THROWS_AS(bench.run(late, {.limit = {4000, 60s, {}}}), UsageError);
}

TEST_CASE("foreign script: the same decisions by TIME as by the time in an argument") {
  Bench bench;
  const auto& own = algorithm("gcra");  // calls TIME only if no time is given
  CHECK(own.script.find("'TIME'") != own.script.npos);
  const auto told =
      limiter(std::string(own.script), {"{key}"}, {"{limit}", "{window_us}", "", "", "{now_us}"});
  CHECK(bench.run(told).measured.allowed == 5);
  const auto by_argument = bench.decisions;
  const auto asks = limiter(std::string(own.script), {"other:{key}"}, {"{limit}", "{window_us}"});
  CHECK(bench.run(asks).measured.allowed == 5);
  CHECK(bench.decisions.size() == by_argument.size());
  for (std::size_t i = 0; i < by_argument.size(); ++i) {
    CHECK(bench.decisions[i].allowed == by_argument[i].allowed);
  }
}

TEST_CASE("foreign script: absolute times of expiry count from the time of the request") {
  struct Case {
    const char* source;
    std::int64_t left;  ///< ms; -2: the key is gone
    bool is_new = false;
  };
  const Case cases[] = {
      {"redis.call('SET', KEYS[1], 1) redis.call('EXPIREAT', KEYS[1], 91001)", 90'000'000},
      {"redis.call('SET', KEYS[1], 1) redis.pcall('pexpireat', KEYS[1], '91001500')", 90'000'500},
      {"redis.call('SET', KEYS[1], 1) redis.call('EXPIREAT', KEYS[1], 1001)", -2},
      {"redis.call('SET', KEYS[1], 1, 'EXAT', 91001)", 90'000'000, true},
      {"redis.call('SET', KEYS[1], 'exat', 'NX', 'PXAT', 91001000)", 90'000'000, true},
      {"redis.call('SET', KEYS[1], 1, 'EXAT', 1001)", -2, true},
      {"redis.call('SET', KEYS[1], 1) redis.call('GETEX', KEYS[1], 'EXAT', 91001)", 90'000'000,
       true},
      {"redis.call('SET', KEYS[1], 1, 'EX', ARGV[1] - 1001)", 90'000'000},
      // What the server refuses.
      {"redis.call('SET', KEYS[1], 1) redis.pcall('EXPIREAT', KEYS[1], '91001.25')", -1},
      {"redis.call('SET', KEYS[1], 1) redis.pcall('EXPIREAT', KEYS[1], 91001.25)", -1},
      {"redis.call('SET', KEYS[1], 1) redis.pcall('EXPIREAT', KEYS[1], '0x16379')", -1},
  };
  TestServer server;
  const bool is_new = !server.call({"SET", "x", "1", "EXAT", "9999999999"}).is_error();
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  for (const auto& each : cases) {
    CAPTURE(each.source);
    if (each.is_new && !is_new) {
      MESSAGE("skipped: this server has no EXAT");
      continue;
    }
    static_cast<void>(server.call({"FLUSHALL"}));
    const auto asked =
        candidate(limiter(std::string(each.source) + " return redis.call('PTTL', KEYS[1])",
                          {"{key}"}, {"91001"}),
                  kMinute);
    const auto script = make_script(asked, *traffic, "p:");
    script->load(server.connection());
    script->call({.at = 1001s}).append_to(server.connection());
    const auto reply = server.connection().read();
    REQUIRE_MESSAGE(reply.type() == rlctl::redis::ReplyType::kInteger, reply_text(reply));
    CHECK(reply.integer() <= each.left);
    CHECK(reply.integer() >= (each.left < 0 ? each.left : each.left - 600'000));
  }
}

TEST_CASE("foreign script: keys that a script makes beside its KEYS are registered and age") {
  Bench bench;
  const std::string source =
      "local mine = 'made:' .. KEYS[1]\n"
      "local count = redis.call('INCR', mine)\n"
      "if count == 1 then redis.call('PEXPIRE', mine, ARGV[1]) end\n"
      "redis.call('GET', 'not made') redis.call('SET', 'there', 2)\n"
      "return count <= 5 and 1 or 0";
  static_cast<void>(bench.server.call({"SET", "there", "1"}));
  // Three windows.
  const auto outcome = bench.run(limiter(source, {"{key}"}, {"{window_ms}"}),
                                 {.limit = kMinute, .duration = 180s, .requests = 180}, "steady");
  CHECK(outcome.measured.allowed == 15);
  const auto made = bench.server.call({"SMEMBERS", "p:rlctl:made"});
  REQUIRE(made.size() == 1);
  CHECK(made[0].text() == "made:p:1");
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

TEST_CASE(
    "foreign script: the keys that it makes age however many there are, and one may be in KEYS") {
  Bench bench;
  // A key for each request, which another reads.
  const std::string source =
      "local n = redis.call('INCR', 'made:' .. ARGV[1])\n"
      "redis.call('EXPIRE', 'made:' .. ARGV[1], 60)\n"
      "local last = redis.call('MGET', 'made:' .. ARGV[2], 'made:' .. ARGV[3])\n"
      "return {redis.call('TTL', KEYS[1]), last[1] and 1 or 0, last[2] and 1 or 0, "
      "redis.call('TTL', 'made:' .. ARGV[2])}";
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto asked =
      candidate(limiter(source, {"made:1"}, {"{now_s}", "1767225601", "1767225661"}), kMinute);
  const auto script = make_script(asked, *traffic, "");
  ScriptDecider decider(bench.server.connection(), *script);
  std::vector<Arrival> arrivals;
  for (int i = 1; i <= 2000; ++i) {
    arrivals.push_back({.at = std::chrono::microseconds{1'767'225'600'000'000} + i * 1s});
  }
  std::vector<Decision> decisions(arrivals.size());
  decider.decide(arrivals, decisions);
  // 60 of them are alive at the end of virtual time; the others expire when they are used.
  CHECK(script->registry() == "rlctl:made");
  script->call({.at = std::chrono::microseconds{1'767'225'660'500'000}})
      .append_to(bench.server.connection());
  const auto reply = bench.server.connection().read();
  CHECK(reply_text(reply) == "[-2, 0, 0, -2]");
}

TEST_CASE("foreign script: a key lives as long, whether it is one of KEYS or made by the script") {
  Bench bench;
  const std::string source =
      "local key = ARGV[1] == '1' and KEYS[1] or ARGV[2]\n"
      "redis.call('SET', key, 1, 'EX', 60, 'NX') return redis.call('PTTL', key)";
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto asked = candidate(limiter(source, {"k:{id}"}, {"{cost}", "k:1"}), kMinute);
  const auto script = make_script(asked, *traffic, "");
  script->load(bench.server.connection());
  KeyAging aging(bench.server.connection(), "rlctl:ttls");
  const auto ttl_at = [&](std::chrono::seconds at, std::int64_t cost) {
    const auto call = script->call({.at = at, .cost = cost});
    std::vector<std::string> keys(call.keys.begin(), call.keys.end());
    const std::vector<std::string_view> named(keys.begin(), keys.end());
    const bool ages = aging.advance(at, named);
    call.append_to(bench.server.connection());
    if (ages) KeyAging::require_done(bench.server.connection().read());
    const auto ttl = bench.server.connection().read().integer();
    if (aging.pause()) KeyAging::require_done(bench.server.connection().read());
    return (ttl + 999) / 1000;
  };
  CHECK(ttl_at(100s, 1) == 60);  // as KEYS[1]
  CHECK(ttl_at(110s, 2) == 50);  // as a name of its own
  CHECK(ttl_at(130s, 2) == 30);
  CHECK(ttl_at(161s, 2) == 60);
  CHECK(ttl_at(170s, 2) == 51);
}

TEST_CASE("foreign script: whether it may read a TTL") {
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto may_read_ttl = [&](const std::string& source, const std::string& argument) {
    const auto asked = candidate(limiter(source, {"{key}"}, {argument}), kMinute);
    return make_script(asked, *traffic, "")->may_read_ttl();
  };
  CHECK_FALSE(may_read_ttl("redis.call('EXPIRE', KEYS[1], ARGV[1], 'NX')", "60"));
  CHECK_FALSE(may_read_ttl("local result = redis.call('SET', KEYS[1], 1, 'EX', 60)", "gte"));
  CHECK_FALSE(may_read_ttl("local throttle, ttl = redis.call('GET', KEYS[1]), 60 -- TTL", "60"));
  CHECK_FALSE(may_read_ttl("local call = redis.call return call('GET', KEYS[1])", "60"));
  CHECK(may_read_ttl("return redis.call('T' .. 'TL', KEYS[1])", "60"));
  CHECK(may_read_ttl("local call = redis.call return call('TTL', KEYS[1])", "60"));
  CHECK(may_read_ttl("return _G.redis.call('TTL', KEYS[1])", "60"));
  CHECK(may_read_ttl("return redis.call('pTtl', KEYS[1])", "60"));
  CHECK(may_read_ttl("return redis.call('EXPIRETIME', KEYS[1])", "60"));
  CHECK(may_read_ttl("return redis.call('EXPIRE', KEYS[1], 60, 'LT')", "60"));
  CHECK(may_read_ttl("return redis.call('EXPIRE', KEYS[1], 60, [[LT]])", "60"));
  CHECK(may_read_ttl("return redis.call(ARGV[1], KEYS[1])", "TTL"));
  CHECK(may_read_ttl("return redis.call('EXPIRE', KEYS[1], 60, ARGV[1])", "lt"));
}

TEST_CASE("foreign script: what cannot get the virtual time is refused") {
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto make = [&](const std::string& source) {
    static_cast<void>(
        make_script(candidate(limiter(source, {"{key}"}, {}), kMinute), *traffic, ""));
  };
  CHECK_THROWS_WITH_AS(make("redis.call('HPEXPIRE', KEYS[1], 5, 'FIELDS', 1, 'f')"),
                       "my.lua has the word HPEXPIRE: virtual time does not pass for the TTLs of a "
                       "hash's fields",
                       UsageError);
  const auto as_argument =
      limiter("return redis.call(ARGV[1], KEYS[1], 5, 'FIELDS', 1, 'f')", {"{key}"}, {"hExpire"});
  CHECK_THROWS_WITH_AS(
      static_cast<void>(make_script(candidate(as_argument, kMinute), *traffic, "")),
      "my.lua is given the word HEXPIRE: virtual time does not pass for the TTLs of a hash's "
      "fields",
      UsageError);
  std::string source;
  for (int i = 0; i < 60; ++i) source += "local v" + std::to_string(i) + "=1\n";
  source += "local function f() return redis.call(ARGV[1])";
  for (int i = 0; i < 60; ++i) source += ",v" + std::to_string(i);
  CHECK_THROWS_AS(make(source + " end return f()"), UsageError);
}

TEST_CASE("foreign script: unknown flags of the first line are ignored, and that is told") {
  Bench bench;
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const std::string body = "\nreturn redis.call('INCR', KEYS[1])\n";
  const auto change_of = [&](const std::string& line) {
    const auto asked = candidate(limiter(line + body, {"{key}"}, {}), kMinute);
    const auto script = make_script(asked, *traffic, "p:");
    script->load(bench.server.connection());
    script->call({.at = 1s}).append_to(bench.server.connection());
    const auto reply = bench.server.connection().read();
    CHECK_MESSAGE(reply.type() == rlctl::redis::ReplyType::kInteger, reply_text(reply));
    return script->change();
  };
  CHECK(change_of("-- no flags").empty());
  if (bench.server.call({"EVAL", "#!lua\nreturn 1", "0"}).is_error()) {
    CHECK(change_of("#!lua") ==
          "ignored its first line, \"#!lua\", which this server does not know");
    MESSAGE("skipped: this server knows no flags");
    return;
  }
  CHECK(change_of("#!lua").empty());
  CHECK(change_of("#!lua flags=allow-oom").empty());
  CHECK(change_of("#!lua flags=allow-key-locking") ==
        "ignored the flag allow-key-locking, which this server does not know");
  CHECK(change_of("#!lua flags=a,allow-oom,b") ==
        "ignored the flags a, b, which this server does not know");
  const auto error =
      bench.error(limiter("#!lua flags=a\nlocal x = 1\nreturn = 1", {"{key}"}, {"{now}"}));
  CHECK(std::string(error.what()).starts_with("my.lua: "));
}

TEST_CASE("foreign script: a function of a library runs with the virtual clock") {
  Bench bench;
  auto library =
      limiter(R"(#!lua name=mylib
local function count(keys, args)
  local t = redis.call('TIME')
  local made = 'made:' .. keys[1] .. ':' .. math.floor(t[1] / args[1])
  if redis.call('INCR', made) == 1 then redis.call('EXPIREAT', made, t[1] + 2 * args[1]) end
  return #args == 1 and tonumber(redis.call('GET', made)) or -1
end
redis.register_function('count', count)
redis.register_function{function_name='other', callback=function(keys, args) return 0 end, flags={'no-writes'}}
)",
              {"{key}"}, {"{window_s}"}, {.allowed_when = parse_allowed_when("<=limit")});
  if (bench.server.call({"FUNCTION", "LIST"}).is_error()) {
    MESSAGE("skipped: this server has no functions");
    return;
  }
  CHECK_THROWS_AS(choose_function(library), UsageError);
  library.function = "cuont";
  CHECK_THROWS_WITH_AS(choose_function(library),
                       "my.lua has no function 'cuont'; did you mean 'count'?", UsageError);
  library.function = "count";
  CHECK_NOTHROW(choose_function(library));
  const auto outcome = bench.run(library);
  CHECK(outcome.measured.allowed == 10);
  CHECK(outcome.measured.worst.ratio == 2.0);
  CHECK(bench.server.call({"SCARD", "p:rlctl:made"}).integer() == 2);
  library.function = "other";
  CHECK(bench.run(library).measured.allowed == 10);

  auto script = limiter("return 1", {"{key}"}, {});
  CHECK_NOTHROW(choose_function(script));
  script.function = "count";
  CHECK_THROWS_AS(choose_function(script), UsageError);
}

TEST_CASE("foreign script: a library becomes a script that calls one of its functions") {
  TestServer server;
  const std::string library =
      "#!lua name=mylib\n"
      "local function add(keys, args) return {#keys, keys[1], args[1] + 1, redis.call('ECHO', "
      "'x')} end\n"
      "redis.register_function('add', add)\n"
      "redis.register_function{function_name='fail', callback=function() error('no') end} -- end";
  const auto run = [&](std::string_view function) {
    return server.eval(rlctl::lua::library_as_script(library, function), {"k"}, {"5"});
  };
  CHECK(reply_text(run("add")) == "[1, 'k', 6, 'x']");
  CHECK(run("fail").text().find("user_script:4:") != std::string_view::npos);
  CHECK(run("none").text().find("Function not found: none") != std::string_view::npos);
}

TEST_CASE("foreign script: a limit that does not fit its templates, or a bad reading, is refused") {
  const auto traffic = make_traffic(patterns().front(), {.limit = kMinute});
  const auto seconds =
      candidate(limiter("return 1", {"{key}"}, {"{window_s}", "{now}"}), {5, 1500ms, {}});
  CHECK_THROWS_AS(static_cast<void>(make_script(seconds, *traffic, "p:")), UsageError);
  const auto wait = candidate(
      limiter("return 1", {"{key}"}, {"{now}"}, {parse_allowed_when("nonzero"), 1s}), kMinute);
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
