// needs: server
#include "script/script.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "script/key_aging.h"
#include "support/foreign_bench.h"
#include "support/limiters.h"

namespace traffic_foreign_script_clock_test {

using namespace std::chrono_literals;
using namespace rlctl::script;
using namespace rlctl::simulation;
using namespace rlctl::traffic;
using namespace rlctl::test;
using namespace rlctl::test::foreign;
using rlctl::UsageError;

// Whole runs of scripts are in tests/cli/burst/script.t.

TEST_CASE("foreign script: it has a clock if it is told the time, calls TIME or sets a TTL") {
  CHECK(lacks_clock(limiter("return redis.call('INCR', KEYS[1])", {"{key}"}, {"{window_s}"})));
  // A comment calls nothing, and other words than the commands' do not either.
  CHECK(
      lacks_clock(limiter("-- EX, PX, TIME\nreturn 'text: ' .. 'sometimes exact'", {"{key}"}, {})));
  CHECK(
      lacks_clock(limiter("return redis.call('HGET', KEYS[1], ARGV[1])", {"{key}"}, {"expires"})));
  CHECK_FALSE(lacks_clock(limiter("return #'set k 1 ex 5'", {"{key}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("return 1", {"{key}:{window_index}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("return 1", {"{key}"}, {"{now}"})));
  CHECK_FALSE(lacks_clock(limiter("return redis.call('time')[1]", {"{key}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("redis.call('EXPIRE', KEYS[1], 5)", {"{key}"}, {})));
  CHECK_FALSE(lacks_clock(limiter("redis.call(ARGV[1], KEYS[1], 5)", {"{key}"}, {"pexpire"})));
}

TEST_CASE("foreign script: TTLs are aged only for a script that may set one") {
  const auto hash_of = [](const std::string& source, const std::vector<std::string>& arguments) {
    return script_of(candidate(limiter(source, {"{key}"}, arguments), kMinute))->key_of_ttls();
  };
  CHECK_FALSE(hash_of("return redis.call('INCR', KEYS[1])", {"{now}"}));
  CHECK(hash_of("redis.call('pexpire', KEYS[1], 5) return 1", {"{now}"}) == "p:rlctl:ttls");
  CHECK(hash_of("redis.call('SET', KEYS[1], 1, ARGV[2], 5) return 1", {"{now}", "px"}));
}

TEST_CASE("foreign script: TIME replies the time of the request, however it is called") {
  Bench bench;
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
    const auto reply = bench.reply(limiter(source, {"{key}"}, {}), 1'234'567'000'089us);
    CHECK(reply_text(reply) == "['1234567', '89']");
  }
}

TEST_CASE(
    "foreign script: the substitute for TIME shows neither in ARGV nor in the lines of errors") {
  Bench bench;
  const auto asked =
      candidate(limiter("local t = redis.call('TIME')\nif t[1] == '7' then\n  error('x')\nend\n"
                        "return {#ARGV, ARGV[1], ARGV[2], #KEYS, unpack(ARGV)}",
                        {"{key}"}, {"{limit}", "x"}),
                kMinute);
  const auto script = script_of(asked);
  script->load(bench.server.connection());
  CHECK(reply_text(bench.reply(*script, {.at = 5s})) == "[2, '5', 'x', 1, '5', 'x']");
  const Arrival failing{.at = 7s};
  const auto error = support::error_of(
      [&] { static_cast<void>(script->parse(bench.reply(*script, failing), {}, 1)); });
  CHECK(std::string(error.what()).starts_with("my.lua:3: "));
  CHECK(std::string(script->with_request(error, failing, 2).what())
            .ends_with("; request 2 had KEYS 'p:1' and ARGV '5' 'x'"));
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
  CHECK(
      std::ranges::equal(bench.decisions, by_argument, {}, &Decision::allowed, &Decision::allowed));
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
  Bench bench;
  const bool is_new = !bench.server.call({"SET", "x", "1", "EXAT", "9999999999"}).is_error();
  for (const auto& each : cases) {
    CAPTURE(each.source);
    if (each.is_new && !is_new) continue;
    static_cast<void>(bench.server.call({"FLUSHALL"}));
    const auto source = std::string(each.source) + " return redis.call('PTTL', KEYS[1])";
    const auto reply = bench.reply(limiter(source, {"{key}"}, {"91001"}), 1001s);
    REQUIRE_MESSAGE(reply.type() == rlctl::redis::ReplyType::kInteger, reply_text(reply));
    CHECK(reply.integer() <= each.left);
    CHECK(reply.integer() >= (each.left < 0 ? each.left : each.left - 600'000));
  }
}

TEST_CASE("foreign script: keys that are not among its KEYS age, and are noticed") {
  Bench bench;
  const std::string source =
      "local mine = 'made:' .. KEYS[1]\n"
      "local count = redis.call('INCR', mine)\n"
      "if count == 1 then redis.call('PEXPIRE', mine, ARGV[1]) end\n"
      "return count <= 5 and 1 or 0";
  // Three windows.
  const auto outcome = bench.run(limiter(source, {"{key}"}, {"{window_ms}"}),
                                 {.limit = kMinute, .duration = 180s, .requests = 180}, "steady");
  CHECK(outcome.measured.allowed == 15);
  CHECK(bench.server.call({"EXISTS", "p:rlctl:ttls:others"}).integer() == 1);
  static_cast<void>(bench.server.call({"FLUSHALL"}));
  bench.run(limiter("redis.call('SET', KEYS[1], 1) return redis.call('DEL', KEYS[1])", {"{key}"},
                    {"{now}"}));
  CHECK(bench.server.call({"DBSIZE"}).integer() == 0);
  // One that is gone at the end, too.
  bench.run(
      limiter("redis.call('SET', 'x', 1) return redis.call('DEL', 'x')", {"{key}"}, {"{now}"}));
  CHECK(bench.server.call({"EXISTS", "p:rlctl:ttls:others"}).integer() == 1);
}

TEST_CASE("foreign script: other clients' scripts that call TIME do not make it suspect") {
  Bench bench;
  const auto source = "return #'the time'";
  const auto asked = candidate(limiter(source, {"{key}"}, {"{now}"}), kMinute);
  const auto script = script_of(asked);
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
  const auto asked =
      candidate(limiter(source, {"made:1"}, {"{now_s}", "1767225601", "1767225661"}), kMinute);
  const auto script = script_of(asked, "");
  ScriptDecider decider(bench.server.connection(), *script);
  std::vector<Arrival> arrivals;
  for (int i = 1; i <= 2000; ++i) {
    arrivals.push_back({.at = std::chrono::microseconds{1'767'225'600'000'000} + i * 1s});
  }
  std::vector<Decision> decisions(arrivals.size());
  decider.decide(arrivals, decisions);
  // 60 of them are alive at the end of virtual time; the others expire when they are used.
  CHECK(reply_text(bench.reply(*script, {.at = 1'767'225'660'500'000us})) == "[-2, 0, 0, -2]");
}

TEST_CASE("foreign script: a key lives as long, whether it is one of KEYS or made by the script") {
  Bench bench;
  const std::string source =
      "local key = ARGV[1] == '1' and KEYS[1] or ARGV[2]\n"
      "redis.call('SET', key, 1, 'EX', 60, 'NX') return redis.call('PTTL', key)";
  const auto asked = candidate(limiter(source, {"k:{id}"}, {"{cost}", "k:1"}), kMinute);
  const auto script = script_of(asked, "");
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
    return (ttl + 500) / 1000;  // a call may take some milliseconds
  };
  CHECK(ttl_at(100s, 1) == 60);  // as KEYS[1]
  CHECK(ttl_at(110s, 2) == 50);  // as a name of its own
  CHECK(ttl_at(130s, 2) == 30);
  CHECK(ttl_at(161s, 2) == 60);
  CHECK(ttl_at(170s, 2) == 51);
}

TEST_CASE("foreign script: whether it may read a TTL") {
  struct Case {
    const char* source;
    bool may;
    const char* argument = "60";
  };
  const Case cases[] = {{"redis.call('EXPIRE', KEYS[1], ARGV[1], 'NX')", false},
                        {"local result = redis.call('SET', KEYS[1], 1, 'EX', 60)", false, "gte"},
                        {"local throttle, ttl = redis.call('GET', KEYS[1]), 60 -- TTL", false},
                        {"local call = redis.call return call('GET', KEYS[1])", false},
                        {"return redis.call('T' .. 'TL', KEYS[1])", true},
                        {"local call = redis.call return call('TTL', KEYS[1])", true},
                        {"return _G.redis.call('TTL', KEYS[1])", true},
                        {"return redis.call('pTtl', KEYS[1])", true},
                        {"return redis.call('EXPIRETIME', KEYS[1])", true},
                        {"return redis.call('EXPIRE', KEYS[1], 60, 'LT')", true},
                        {"return redis.call('EXPIRE', KEYS[1], 60, [[LT]])", true},
                        {"return redis.call(ARGV[1], KEYS[1])", true, "TTL"},
                        {"return redis.call('EXPIRE', KEYS[1], 60, ARGV[1])", true, "lt"}};
  for (const auto& each : cases) {
    CAPTURE(each.source);
    const auto asked = candidate(limiter(each.source, {"{key}"}, {each.argument}), kMinute);
    CHECK(script_of(asked, "")->may_read_ttl() == each.may);
  }
}

TEST_CASE("foreign script: what cannot get the virtual time is refused") {
  const auto make = [&](const std::string& source) {
    static_cast<void>(script_of(candidate(limiter(source, {"{key}"}, {}), kMinute)));
  };
  CHECK_THROWS_WITH_AS(make("redis.call('HPEXPIRE', KEYS[1], 5, 'FIELDS', 1, 'f')"),
                       "my.lua has the word HPEXPIRE: virtual time does not pass for the TTLs of a "
                       "hash's fields",
                       UsageError);
  const auto as_argument =
      limiter("return redis.call(ARGV[1], KEYS[1], 5, 'FIELDS', 1, 'f')", {"{key}"}, {"hExpire"});
  CHECK_THROWS_WITH_AS(
      static_cast<void>(script_of(candidate(as_argument, kMinute))),
      "my.lua is given the word HEXPIRE: virtual time does not pass for the TTLs of a hash's "
      "fields",
      UsageError);
  // A private server counts expired fields for a while, whatever its clock says.
  const auto asked = candidate(limiter("redis.call('HSETEX', KEYS[1], 'EX', 5)", {}, {}), kMinute);
  CHECK_THROWS_AS(static_cast<void>(script_of(asked, "", {.time = ScriptTime::kTold})), UsageError);
  CHECK_NOTHROW(static_cast<void>(script_of(asked, "", {.time = ScriptTime::kHost})));
  std::string source;
  for (int i = 0; i < 60; ++i) source += "local v" + std::to_string(i) + "=1\n";
  source += "local function f() return redis.call(ARGV[1])";
  for (int i = 0; i < 60; ++i) source += ",v" + std::to_string(i);
  CHECK_THROWS_AS(make(source + " end return f()"), UsageError);
}

}  // namespace traffic_foreign_script_clock_test
