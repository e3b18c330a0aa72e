// needs: server
#include "ldb/trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "redis/server.h"
#include "support/failure.h"
#include "support/random.h"

namespace ldb_trace_test {

using namespace std::chrono_literals;
using namespace rlctl::ldb;
using namespace rlctl::redis;
using namespace support;
using Strings = std::vector<std::string>;

namespace {

std::string text_of_call(const Call& call) {
  std::string text;
  for (const auto& word : call.words) text += (text.empty() ? "" : " ") + word;
  if (call.raw) text = "raw " + text;
  if (call.error) return text + " ! " + *call.error;
  return text + (call.reply ? " > " + *call.reply : " refused");
}

/// "2 GET k > \"v\"", "2 x=1"
void append_line(Strings& out, const TracedLine& line) {
  const auto number = std::to_string(line.line);
  out.push_back(number);
  for (const auto& call : line.calls) out.push_back(number + " " + text_of_call(call));
  for (const auto& message : line.messages) {
    out.push_back(number + (message.level.empty() ? " debug " : " " + message.level + " ") +
                  message.text);
  }
  for (const auto& change : line.changed) {
    out.push_back(number + " " + change.local.name + "=" + text_of(change.value));
  }
}

/// A private server, and the output of traces on it.
class Tracer {
 public:
  Connection connect() const { return Connection::open(server_.url(), 120s); }
  std::string reply_to(const Strings& command) const {
    const std::vector<std::string_view> words(command.begin(), command.end());
    return std::string(connect().call(words).text());
  }
  const PrivateServer& server() const { return server_; }

  Strings operator()(const Debuggee& debuggee, Mode mode = Mode::kSync) {
    Strings lines;
    result = rlctl::ldb::trace(
        debuggee, mode, [this] { return connect(); }, options,
        [&](const TracedLine& line) {
          CHECK(line.number == ++count_);
          append_line(lines, line);
        });
    CHECK(result.lines == count_);
    count_ = 0;
    std::int64_t hits = 0;
    for (const auto& [line, times] : result.hits) hits += times;
    CHECK(hits == result.lines);
    return lines;
  }
  Strings operator()(const std::string& source) { return (*this)(Debuggee{.source = source}); }

  /// The changes only, without the lines that have none of the kind, for easy comparison.
  Strings changes(const std::string& source) {
    auto lines = (*this)(source);
    std::erase_if(lines, [](const auto& line) { return line.find('=') == std::string::npos; });
    return lines;
  }

  TraceOptions options = {.limits = {.step = 120s, .run = 120s}};
  TraceResult result = {};

 private:
  PrivateServer server_;
  std::int64_t count_ = 0;
};

/// So many locals that the probes' own do not fit.
std::string many_locals(int count) {
  std::string source;
  for (int i = 0; i < count; ++i) source += "local a" + std::to_string(i) + " = 1\n";
  return source;
}

}  // namespace

TEST_CASE("each line is reported with what it did") {
  Tracer trace;
  CHECK(trace(Debuggee{.source = "local key = KEYS[1]\n"
                                 "local n = redis.call('INCRBY', key, ARGV[1])\n"
                                 "redis.call('SET', 'a b', '', 'EX', 10)\n"
                                 "\n"
                                 "-- nothing\n"
                                 "return {n, 'x'}\n",
                       .keys = {"k"},
                       .arguments = {"5"}}) == Strings{"1", "1 key=\"k\"", "2", "2 INCRBY k 5 > 5",
                                                       "2 n=5", "3", "3 SET a b  EX 10 > \"+OK\"",
                                                       "6"});
  CHECK(trace.result.ending == Ending::kReturned);
  CHECK(trace.result.reply->size() == 2);
  CHECK(trace.result.lines == 4);
  CHECK(trace.result.calls == 2);
  CHECK(trace.result.exact);
  CHECK(trace.result.error_line == 0);
  CHECK(trace.result.hits == std::map<int, std::int64_t>{{1, 1}, {2, 1}, {3, 1}, {6, 1}});
}

TEST_CASE("each line is reported with the exact values of the variables that it changed") {
  struct Case {
    const char *what, *source;
    Strings changes;
  };
  const Case cases[] = {
      {"numbers are exact",
       "local a = 1700000000123456\n"
       "local b = 0.1 + 0.2\n"
       "local c = 'a\\0\\r\\n\\200\"'\n"
       "local d = {1, {2}, n = {}}\n"
       "d[2].x = -0.5\n"
       "return 1",
       {"1 a=1700000000123456", "2 b=0.30000000000000004", R"(3 c="a\000\r\n\200\"")",
        "4 d={1, {2}, n = {}}", "5 d={1, {2, x = -0.5}, n = {}}"}},
      {"a variable that hides another is a separate variable",
       "local x = 1\n"
       "do\n"
       "  local x = 2\n"
       "  x = 3\n"
       "end\n"
       "local x = x + 10\n"
       "return x",
       {"1 x=1", "3 x=2", "4 x=3", "6 x=11"}},
      {"recursive calls have separate variables",
       "local function f(n)\n"
       "  local d = n * 2\n"
       "  if n > 0 then\n"
       "    local r = f(n - 1)\n"
       "    d = d + r + 1\n"
       "  end\n"
       "  return d\n"
       "end\n"
       "local r = f(1)\n"
       "return r",
       {"8 f=function", "9 n=1", "2 d=2", "4 n=0", "2 d=0", "7 r=0", "5 d=3", "7 r=3"}},
      {"coroutines and closures keep their own variables",
       "local n = 0\n"
       "local co = coroutine.wrap(function(a)\n"
       "  n = n + a\n"
       "  local b = coroutine.yield(n)\n"
       "  n = n + b\n"
       "  return n\n"
       "end)\n"
       "local x = co(5)\n"
       "local y = co(6)\n"
       "return y",
       {"1 n=0", "2 co=function", "8 a=5", "3 n=5", "4 x=5", "9 b=6", "5 n=11", "6 y=11"}},
  };
  Tracer trace;
  for (const auto& each : cases) {
    CAPTURE(each.what);
    CHECK(trace.changes(each.source) == each.changes);
  }
  const auto lines = trace.changes("local s = string.rep('x', 1048576)\nreturn 1");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].size() == std::string("1 s=\"\"").size() + 1048576);
}

TEST_CASE("each iteration of a loop is reported, and the effects of its last line at that line") {
  Tracer trace;
  CHECK(trace("local n = 0\n"
              "for i = 1, 2 do\n"
              "  local t = 7\n"
              "  n = n + i\n"
              "end\n"
              "return n") == Strings{"1", "1 n=0", "2", "2 i=1", "3", "3 t=7", "4", "4 n=1", "2",
                                     "2 i=2", "3", "3 t=7", "4", "4 n=3", "2", "6"});
  CHECK(trace.result.hits == std::map<int, std::int64_t>{{1, 1}, {2, 3}, {3, 2}, {4, 2}, {6, 1}});
  CHECK(trace("for i = 1, 3 do local a = i end\nreturn 1").size() == 5);
}

TEST_CASE("each line of a long run is counted once, although the debugger stops more often") {
  Tracer trace;
  // It stops every 100,000 instructions, too.
  std::string lengths;
  for (int i = 0; i < 30; ++i) lengths += " + string.len(n .. '')";
  (void)trace(
      "local n, s = 0, 0\n"
      "for i = 1, 1000 do\n"
      "  n = n + i\n"
      "  s = s" +
      lengths +
      "\n"
      "end\n"
      "return n");
  CHECK(trace.result.hits ==
        std::map<int, std::int64_t>{{1, 1}, {2, 1001}, {3, 1000}, {4, 1000}, {6, 1}});
}

TEST_CASE("a failed call is one call with its error, whether caught or not") {
  Tracer trace;
  const auto lines = trace(
      "redis.call('SET', 'k', 'x')\n"
      "local ok = pcall(redis.call, 'INCR', 'k')\n"
      "local e = redis.pcall('LPUSH', 'k', 'y').err\n"
      "redis.call('HSET', 'k', 'a', 'b')\n"
      "return 1");
  const std::string wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
  CHECK(lines[1] == "1 SET k x > \"+OK\"");
  CHECK(lines[3] == "2 INCR k ! value is not an integer or out of range");
  CHECK(lines[6] == "3 LPUSH k y ! " + wrong);
  CHECK(lines.back() == "4 HSET k a b ! " + wrong);
  CHECK(trace.result.calls == 4);
  CHECK(trace.result.ending == Ending::kRunTimeError);
  CHECK(trace.result.message == wrong);
  CHECK(trace.result.error_line == 4);
  // So are those that are refused before they are executed.
  const auto refused = trace("redis.pcall('GET')\nredis.pcall('NOSUCH', 'a')\nreturn 1");
  REQUIRE(refused.size() == 5);
  CHECK(refused[1].starts_with("1 GET ! "));
  CHECK(refused[3].starts_with("2 NOSUCH a ! "));
  CHECK(trace.result.ending == Ending::kReturned);
}

TEST_CASE("an error that a script creates itself is not attributed to a call") {
  Tracer trace;
  CHECK(trace("redis.call('SET', 'k', '-ERR no') local r = redis.error_reply('MY no')\n"
              "local v = redis.call('GET', 'k') local q = redis.error_reply('MY no')\n"
              "return r")[1] == "1 SET k -ERR no > \"+OK\"");
  CHECK(trace.result.calls == 2);
  CHECK(trace.result.ending == Ending::kReturned);
  CHECK(trace.result.reply->text() == "MY no");
  CHECK(trace("redis.pcall('INCR', 'k') local r = redis.error_reply('MY no')\nreturn r")[1] ==
        "1 INCR k ! value is not an integer or out of range");
  CHECK(trace("return redis.status_reply('FINE')") == Strings{"1"});
  CHECK(trace.result.reply->text() == "FINE");
}

TEST_CASE("commands are reported with all their words and replies with all their bytes") {
  Tracer trace;
  const auto lines = trace(
      "redis.call('RPUSH', 'l', '1', '2', '3 4', '', '5', '6', '7', '8', '9', '10')\n"
      "redis.call('SET', 'k', 'a\\0\\r\\n\\200')\n"
      "redis.call('GET', 'k')\n"
      "return redis.call('LRANGE', 'l', 0, 2)");
  CHECK(lines[1] == "1 RPUSH l 1 2 3 4  5 6 7 8 9 10 > 10");
  CHECK(lines[3] == std::string("2 SET k a\0\r\n\xc8 > \"+OK\"", 21));
  CHECK(lines[5] == R"(3 GET k > "a\x00\r\n\xc8")");
  CHECK(lines[7] == R"(4 LRANGE l 0 2 > ["1","2","3 4"])");
}

TEST_CASE(
    "messages to the debugger are reported, and what is logged with its level and as logged") {
  Tracer trace;
  const auto lines = trace(
      "redis.log(redis.LOG_DEBUG, 'a', 5, ' b;=%\\0\\n')\n"
      "local log = redis.log\n"
      "log(3, 'far')\n"
      "pcall(redis.log, 4, 'x')\n"
      "pcall(redis.log, 'x', 'x')\n"
      "pcall(redis.log)\n"
      "redis.debug('hello', 7)\n"
      "return redis.log(1, '')");
  const auto of = [&](std::string_view level) {
    return *std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
      return line.find(std::string(" ") + std::string(level)) == 1;
    });
  };
  CHECK(of("debug") == std::string("1 debug a 5  b;=%\0\n", 19));
  CHECK(of("warning") == "3 warning far");
  CHECK(of("verbose") == "8 verbose ");
  CHECK(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
          return line.starts_with("7 debug ") && contains(line, "hello") && contains(line, "7");
        }) == 1);
  CHECK(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
          return line.starts_with("4 ") || line.starts_with("5 ") || line.starts_with("6 ");
        }) == 0);
}

TEST_CASE("errors are reported as a client sees them, with the source's line") {
  struct Case {
    const char* source;
    const char* message;
    int line;
  };
  const Case cases[] = {
      {"local a = 1\nerror('my own')", "my own", 2},
      {"local a = 1\nerror('CODE my own', 0)", "CODE my own", 2},
      {"local a = {}\nlocal b = a.b.c", "attempt to index field 'b' (a nil value)", 2},
      {"local function f()\n  local x = nil + 1\n  return x\nend\nlocal a = f()\nreturn a",
       "attempt to perform arithmetic on a nil value", 2},
      {"local co = coroutine.wrap(function()\n  error('inside')\nend)\nlocal x = co()\nreturn x",
       "user_script:2: inside", 4},
      {"local a = 1\nreturn nosuch",
       "Script attempted to access nonexistent global variable 'nosuch'", 2},
      {"local a = 1\nassert(a == 2, 'not two')\nreturn a", "not two", 2},
      {"local a = 1\n\nredis.call('SET', 'k', 'x')\nredis.call('INCR', 'k')\nreturn a",
       "value is not an integer or out of range", 4},
  };
  Tracer trace;
  for (const auto& each : cases) {
    CAPTURE(each.source);
    (void)trace(each.source);
    CHECK(trace.result.ending == Ending::kRunTimeError);
    CHECK(trace.result.message == each.message);
    CHECK(trace.result.error_line == each.line);
  }
  // Thousands of lines deep.
  if (rlctl::test::scaled(0, 1) == 0) return;
  (void)trace("local function f(n)\n  return 1 + f(n + 1)\nend\nlocal a = f(1)\nreturn a");
  CHECK(trace.result.message == "stack overflow");
  CHECK(trace.result.error_line == 2);
}

TEST_CASE("an error that is a table ends the script or, in many versions, crashes the server") {
  Tracer trace;
  CHECK(trace("local a = 1\nerror({})\nreturn a").front() == "1");
  CHECK((trace.result.ending == Ending::kRunTimeError || trace.result.ending == Ending::kLost));
  CHECK_FALSE(trace.result.message.empty());
  CHECK(trace.result.lines == 2);
}

TEST_CASE("a compile error is reported with its line") {
  Tracer trace;
  CHECK(trace("local a = 1\nlocal b = = 2\nreturn a").empty());
  CHECK(trace.result.ending == Ending::kCompileError);
  CHECK(trace.result.message == "unexpected symbol near '='");
  CHECK(trace.result.error_line == 2);
  CHECK(trace("local a = 1\nx x").empty());
  CHECK(trace.result.error_line == 2);
  CHECK(trace("#!nosuch\nreturn 1").empty());
  CHECK(trace.result.ending == Ending::kCompileError);
  CHECK(trace.result.error_line == 1);
}

TEST_CASE("scripts without code, with any line end, or on one line are traced") {
  Tracer trace;
  for (const char* source : {"", "\n", " ", "\t\r\n"}) {
    CAPTURE(source);
    (void)trace(source);
    CHECK(trace.result.ending == Ending::kReturned);
    CHECK(trace.result.reply->is_nil());
    CHECK(trace.result.exact);
  }
  (void)trace("-- a\n-- b\n");
  CHECK(trace.result.ending == Ending::kReturned);
  for (const char* source :
       {"local a = 1\r\nlocal b = 2\r\nreturn b\r\n", "local a = 1\rlocal b = 2\rreturn b"}) {
    CAPTURE(source);
    CHECK(trace(source) == Strings{"1", "1 a=1", "2", "2 b=2", "3"});
  }
  CHECK(trace("local a = 1; redis.call('SET', 'k', a); return redis.call('GET', 'k')") ==
        Strings{"1", "1 SET k 1 > \"+OK\"", "1 GET k > \"1\""});
}

TEST_CASE("a #! line counts as a line") {
  Tracer trace;
  const auto lines = trace("#!lua\nlocal a = 1\nreturn a");
  if (trace.result.ending == Ending::kCompileError) return;  // Redis 6.0
  CHECK(lines == Strings{"2", "2 a=1", "3"});
}

TEST_CASE("the clock is the requested one, and calls of TIME are reported") {
  Tracer trace;
  trace.options.now = 1'700'000'000'000'042us;
  CHECK(trace("local t = redis.call('TIME')\nreturn t[2]") ==
        Strings{"1", R"(1 TIME > ["1700000000","42"])", R"(1 t={"1700000000", "42"})", "2"});
  CHECK(trace.result.reply->text() == "42");
  CHECK(trace.result.calls == 1);
}

TEST_CASE("a script with as many locals as Lua allows is traced exactly") {
  Tracer trace;
  const auto lines = trace(many_locals(199) + "local z = 0.1 + 0.2\nreturn z");
  CHECK(trace.result.ending == Ending::kReturned);
  CHECK(trace.result.exact);
  CHECK(lines.size() == 401);
  CHECK(lines[399] == "200 z=0.30000000000000004");
}

TEST_CASE("a script that cannot have probes is traced without variables") {
  Tracer trace;
  // It uses as many upvalues as Lua allows.
  std::string source = many_locals(60);
  source += "local function f(x)\nlocal s = x";
  for (int i = 0; i < 60; ++i) source += " + a" + std::to_string(i);
  source += "\nlocal t = redis.call('GET', 'no such') return s\nend\nlocal r = f(1)\nreturn r";
  const auto lines = trace(source);
  CHECK(trace.result.ending == Ending::kReturned);
  CHECK(trace.result.reply->integer() == 61);
  CHECK(trace.result.hits.at(63) == 1);
  const auto with_call = std::count_if(lines.begin(), lines.end(), [](const auto& line) {
    return line.find("GET no such > NULL") != std::string::npos;
  });
  CHECK(with_call == 1);
  if (trace.result.exact) return;
  CHECK(std::find(lines.begin(), lines.end(), "63 raw GET no such > NULL") != lines.end());
  CHECK(std::none_of(lines.begin(), lines.end(),
                     [](const auto& line) { return line.find('=') != line.npos; }));
}

TEST_CASE("a long script is traced in the server itself, and in a fork") {
  Tracer trace;
  std::string source = "local n = 0\n";
  while (source.size() < 100'000) source += "n = n + 1 -- and so on, and so on, and so on\n";
  source += "return n";
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    (void)trace({.source = source}, mode);
    CHECK(trace.result.ending == Ending::kReturned);
    CHECK(trace.result.reply->integer() == trace.result.lines - 2);
    CHECK(trace.result.exact);
  }
}

TEST_CASE("an endless script is cut off, and none of it keeps running") {
  Tracer trace;
  trace.options.max_steps = 50;
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    const auto lines = trace({.source = "local n = 0\nwhile true do\n  n = n + 1\nend"}, mode);
    CHECK(trace.result.ending == Ending::kCutOff);
    CHECK(trace.result.lines == 50);
    CHECK(trace.result.message == "it had executed 50 lines");
    CHECK_FALSE(trace.result.reply);
    CHECK(trace.reply_to({"PING"}) == "PONG");
    (void)trace({.source = "while true do end"}, mode);
    CHECK(trace.result.lines == 50);
    CHECK(trace.reply_to({"PING"}) == "PONG");
  }
}

TEST_CASE("a script that is let go runs to its end") {
  Tracer trace;
  trace.options.max_steps = 2;
  trace.options.detaches = true;
  (void)trace("local a = 1\nlocal b = 2\nredis.call('SET', 'k', 'x')\nreturn 1");
  CHECK(trace.result.ending == Ending::kCutOff);
  CHECK(trace.reply_to({"GET", "k"}) == "x");

  trace.options.detaches = false;
  (void)trace("local a = 1\nlocal b = 2\nredis.call('SET', 'l', 'x')\nreturn 1");
  CHECK(trace.connect().call({"EXISTS", "l"}).integer() == 0);
}

TEST_CASE("what the reply loses is known, if the return has its values on one line") {
  Tracer trace;
  const auto returned = [&](const std::string& source) {
    static_cast<void>(trace(source));
    return trace.result.returned ? text_of(*trace.result.returned) : "";
  };
  CHECK(returned("return 0.9") == "0.9");
  CHECK(returned("if KEYS then return -0.5, 2 end") == "-0.5");
  CHECK(returned("local function f() return {1, {2.5}} end return f()") == "{1, {2.5}}");
  CHECK(trace.result.reply->size() == 2);
  CHECK(returned("return redis.call('LLEN', 'k') - 0.5; -- last") == "-0.5");
  CHECK(trace("return 1.5") == Strings{"1"});
  CHECK(returned("return 5").empty());
  CHECK(returned("return 'a'").empty());
  CHECK(returned("return {\n1.5}").empty());
  CHECK(returned(many_locals(199) + "return 1.5") == "1.5");
}

TEST_CASE(
    "a failed connection is reported, and a user without the permission to debug is refused") {
  Tracer trace;
  REQUIRE(trace.reply_to({"ACL", "SETUSER", "bob", "on", ">pw", "~*", "+eval"}) == "OK");
  auto url = trace.server().url();
  url.user = "bob";
  url.password = "pw";
  const auto result = rlctl::ldb::trace(
      {.source = "return 1"}, Mode::kForked, [&] { return Connection::open(url, 120s); }, {},
      [](const TracedLine&) { FAIL("nothing was executed"); });
  CHECK(result.ending == Ending::kRefused);
  CHECK(result.message.starts_with("NOPERM"));
  CHECK(result.reply->is_error());
}

}  // namespace ldb_trace_test
