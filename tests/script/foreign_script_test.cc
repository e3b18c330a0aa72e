// needs: server
#include "script/script.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "lua/substitute.h"
#include "simulation/virtual_run.h"
#include "support/foreign_bench.h"
#include "support/limiters.h"
#include "traffic/pattern.h"

namespace traffic_foreign_script_test {

using namespace std::chrono_literals;
using namespace rlctl::script;
using namespace rlctl::simulation;
using namespace rlctl::traffic;
using namespace rlctl::test;
using namespace rlctl::test::foreign;
using rlctl::UsageError;
using rlctl::redis::Failure;

// Whole runs of scripts and of functions are in tests/cli/burst/script.t and functions.bats.

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

TEST_CASE("foreign script: a wait in the reply is a promise that may be broken") {
  Bench bench;
  // It replies one second, and then keeps denying.
  const auto outcome =
      bench.run(limiter("return ARGV[1] % 60 < 50 and 1 or 0", {"{key}"}, {"{now_s}"},
                        {.allowed_when = parse_allowed_when("zero"),
                         .retry_after = parse_wait_expression("r s")}),
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
  const auto outcome = bench.run(
      limiter("return {ARGV[1], ARGV[2]}", {"{key}"}, {"{id}", "{now_us}"},
              {.allowed_when = parse_allowed_when(
                   "tonumber(r[1]) == id and tonumber(r[2]) == now_us and id <= limit")}));
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
  // The message of the script's own error stands alone.
  const auto own = bench.error(limiter("return redis.error_reply('ERR bad limit')", {}, {"{now}"}));
  CHECK(std::string(own.what()) ==
        "my.lua: bad limit; request 1 had KEYS none and ARGV '1767225659.990000'");
}

TEST_CASE("foreign script: unknown flags of the first line are ignored, and that is told") {
  Bench bench;
  const std::string body = "\nreturn redis.call('INCR', KEYS[1])\n";
  const auto change_of = [&](const std::string& line) {
    const auto asked = candidate(limiter(line + body, {"{key}"}, {}), kMinute);
    const auto script = script_of(asked);
    script->load(bench.server.connection());
    const auto reply = bench.reply(*script, {.at = 1s});
    CHECK_MESSAGE(reply.type() == rlctl::redis::ReplyType::kInteger, reply_text(reply));
    return script->change();
  };
  CHECK(change_of("-- no flags").empty());
  if (bench.server.call({"EVAL", "#!lua\nreturn 1", "0"}).is_error()) {
    CHECK(change_of("#!lua") ==
          "ignored its first line, \"#!lua\", which this server does not know");
    MESSAGE("skipped: needs Redis 7");
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

TEST_CASE(
    "foreign script: where only KEYS are its own, another key is an error before it is touched") {
  struct Case {
    std::string source;
    std::string error;  ///< empty if there is none
  };
  const auto touches = [](const std::string& place, const std::string& key) {
    return "my.lua" + place + ": the script touches '" + key + "', which is not one of its KEYS";
  };
  const Case cases[] = {
      {"redis.call('SET', KEYS[1], 1) redis.call('RENAME', KEYS[1], KEYS[2]) return 1", ""},
      {"redis.call('SET', KEYS[1], 1, 'PX', 50000) return redis.call('EXISTS', KEYS[1], KEYS[2])",
       ""},
      {"redis.call('ECHO', 'mine') redis.call('TIME') return 1", ""},
      {"\nredis.call('INCR', 'mine') return 1", touches(":2", "mine")},
      {"return redis.call('INCR', KEYS[1] .. ':x')", touches(":1", "p:1:x")},
      {"redis.pcall('INCR', 'mine') return 1", touches(":1", "mine")},
      {"local call = redis['ca' .. 'll'] call(ARGV[1], 'mine', 2) return 1", touches(":1", "mine")},
      {"redis.call('SET', KEYS[1], 1)\nredis.call('RENAME', KEYS[1], 'mine') return 1",
       touches(":2", "mine")},
      {"redis.call('MGET', KEYS[1], KEYS[2], 12) return 1", touches(":1", "12")},
      {"redis.call('ZUNIONSTORE', KEYS[1], 2, KEYS[2], 'mine') return 1", touches(":1", "mine")},
      {"redis.call('sort', KEYS[1], 'STORE', 'mine') return 1", touches(":1", "mine")},
      {"redis.call('SET', 'a\\0b\\n', 1) return 1", touches(":1", "a?b?")},
      {"redis.call('Keys', '*') return 1",
       "my.lua:1: the script calls KEYS, which is not limited to its KEYS"},
      {"redis.call('FLUSHALL') return 1",
       "my.lua:1: the script calls FLUSHALL, which is not limited to its KEYS"},
      {"redis.call('INCR') return 1", "my.lua:1: Wrong number of args"},
  };
  Bench bench;
  for (const auto time : {ScriptTime::kVirtual, ScriptTime::kTold, ScriptTime::kHost}) {
    for (const auto& each : cases) {
      CAPTURE(each.source);
      static_cast<void>(bench.server.call({"FLUSHALL"}));
      static_cast<void>(bench.server.call({"SET", "theirs", "1"}));
      const auto asked = candidate(limiter(each.source, {"{key}", "b"}, {"SET"}), kMinute);
      const auto script = script_of(asked, "p:", {.time = time, .keys_only = true});
      script->load(bench.server.connection());
      const Arrival arrival{.at = 1s};
      const auto reply = bench.reply(*script, arrival);
      if (each.error.empty()) {
        CHECK_MESSAGE(!reply.is_error(), reply_text(reply));
      } else {
        const auto error =
            support::error_of([&] { static_cast<void>(script->parse(reply, arrival, 1)); });
        CHECK(std::string(error.what()).substr(0, each.error.size()) == each.error);
        if (each.error.find(" touches ") != std::string::npos) {
          CHECK(error.hint().find("--url private:") != std::string::npos);
        }
      }
      const auto keys = bench.server.call({"KEYS", "[^p]*"});
      CHECK(keys.size() == 1);
    }
  }
}

TEST_CASE("foreign script: where only KEYS are its own, redis must not be found in other ways") {
  for (const auto* source : {"return _G.redis.call('INCR', 'x')", "return loadstring(ARGV[1])()"}) {
    const auto asked = candidate(limiter(source, {"{key}"}, {"{now}"}), kMinute);
    CHECK_THROWS_AS(static_cast<void>(script_of(asked, "p:", {.keys_only = true})), UsageError);
    CHECK_NOTHROW(static_cast<void>(script_of(asked)));
  }
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
  const std::string in_parentheses =
      "#!lua name=l\n(function() redis.register_function('f', function() return 7 end) end)()";
  CHECK(reply_text(server.eval(rlctl::lua::library_as_script(in_parentheses, "f"), {}, {})) == "7");
}

TEST_CASE("foreign script: what leaves no place for substitutes is refused with its reason") {
  const auto refused = [](const std::string& source) -> std::string {
    try {
      static_cast<void>(script_of(candidate(limiter(source, {"{key}"}, {"{now}"}), kMinute)));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "not refused";
  };
  const std::string time = "local now = redis.call('TIME') ";
  CHECK(
      refused(time + "local function f(server) return server end return server.call('GET', 'k')") ==
      "my.lua has a variable `server` and uses the global `server`, so that it cannot get the "
      "virtual time");
  CHECK(refused(time + std::string(65'536, ' ') + "return 1") ==
        "my.lua has more than 64 KiB: it cannot get the virtual time");
}

TEST_CASE("foreign script: a limit that does not fit its templates, or a bad reading, is refused") {
  const auto seconds =
      candidate(limiter("return 1", {"{key}"}, {"{window_s}", "{now}"}), {5, 1500ms, {}});
  CHECK_THROWS_AS(static_cast<void>(script_of(seconds)), UsageError);
  const auto reading =
      candidate(limiter("return 1", {"{key}"}, {"{now}"}, {parse_allowed_when("r < window_s")}),
                {5, 1500ms, {}});
  CHECK_THROWS_AS(static_cast<void>(script_of(reading)), UsageError);
}

TEST_CASE("foreign script: it has a name but no model") {
  const auto foreign = candidate(limiter("return 1", {}, {"{now}"}), kMinute);
  CHECK(name_of(foreign) == "my.lua");
  CHECK(name_of({&algorithm("gcra"), {kMinute}}) == "gcra");
  CHECK_NOTHROW(require_usable(foreign));
  CHECK_THROWS_AS(ModelDecider{foreign}, UsageError);
}

}  // namespace traffic_foreign_script_test
