// needs: server
// What the debugger shows of a script's variables, and what code that it evaluates sees.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "ldb/debugger.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "support/debugger_bench.h"
#include "support/failure.h"

namespace ldb_debugger_values_test {

using namespace std::chrono_literals;
using namespace rlctl::ldb;
using namespace rlctl::redis;
using namespace rlctl::test;
using namespace support;
using Lines = std::vector<int>;
using Texts = std::vector<std::string>;
using Why = Halt::Why;

TEST_CASE("printing a name shows its exact value and its contents") {
  DebuggerBench bench(
      "local x = 1\n"
      "local t = {a = {5, {b = 'c'}}, ['x y'] = 0.1 + 0.2, n = 1700000000123456}\n"
      "local i, f = 2, function() return x end\n"
      "do\n"
      "  local x = 'inner'\n"
      "  redis.call('PING')\n"
      "end\n"
      "return x");
  (void)bench.run_to({.line = 6});
  CHECK(bench.print("x") == "\"inner\"");
  CHECK(bench.print("t.a[2].b") == "\"c\"");
  CHECK(bench.print("t.a[i]") == "{b = \"c\"}");
  CHECK(bench.print("t['x y']") == "0.30000000000000004");
  CHECK(bench.print("t.n") == "1700000000123456");
  CHECK(bench.print("t.none") == "nil");
  CHECK(contains(bench.print("t.none.more"), "attempt to index field 'none' (a nil value)"));
  CHECK(bench.print("x .. #x") == "\"inner5\"");
  CHECK(bench.print("t.n + 1, ARGV") == "1700000000123457 {\"3\", \"x\"}");
  CHECK(bench.print("KEYS[2]") == "\"l\"");
  CHECK(bench.print("f") == "function");
  CHECK(contains(bench.print("nothing"), "nothing"));
  CHECK(contains(bench.print("f()"), "'f' is a function that cannot be copied here"));
}

TEST_CASE("evaluated code can use the variables it names, and all its results are returned") {
  DebuggerBench bench(
      "local n, s, inf, t = -1.5, 'a\\0\"\\n', 1/0, {1, 2, k = {true}}\n"
      "return n");
  (void)bench->step();
  CHECK(bench.eval("n, s, inf, -inf") == R"(-1.5 "a\000\"\n" inf -inf)");
  CHECK(bench.eval("1, nil, false") == "1 nil false");
  CHECK(bench.eval("t") == "{1, 2, k = {true}}");
  CHECK(bench.eval("return #t, n * 2") == "2 -3");
  CHECK(bench.eval("local x = n x = x + 1 return x") == "-0.5");
  CHECK(bench.eval("if n < 0 then return 'below' end") == "\"below\"");
  CHECK(bench.eval("redis.call('SET', 'made', 'here')") == "{ok = \"OK\"}");
  CHECK(bench.eval("redis.call('GET', 'made') -- a comment") == "\"here\"");
  CHECK(bench.eval("n = 5").empty());
  CHECK(bench.print("n") == "-1.5");
  CHECK(contains(bench.eval("n +"), "! unexpected symbol near"));
  CHECK(contains(bench.eval("error('oops')"), "! oops"));
  CHECK(contains(bench.eval("redis.call('INCR', 'made')"), "not an integer"));
  CHECK(contains(bench.eval("setmetatable({}, 1)"), "bad argument"));
  const std::string long_text(3000, 'x');
  const auto answer = bench.eval("#'" + long_text + "'");
  CAPTURE(answer);  // some servers accept only short commands
  CHECK((answer == "3000" || contains(answer, "more than the debugger takes")));
  CHECK(bench->running());
  CHECK(bench->go_on().why == Why::kEnded);
}

TEST_CASE("an evaluation that does not end is cut off, and the session with it") {
  DebuggerBench bench(kLoopScript, Mode::kSync, 500ms);
  const auto evaluation = bench->evaluate("while true do end");
  CHECK(evaluation.outcome == Evaluation::Outcome::kCutOff);
  CHECK(contains(evaluation.message, "no answer within 500ms"));
  CHECK_FALSE(bench->running());
  CHECK(bench->result().ending == Ending::kCutOff);
  CHECK(bench->result().error_line == 1);
}

TEST_CASE("an evaluation that might not end is refused if the server cannot be killed") {
  const PrivateServer server;
  const Debuggee debuggee{.name = "a.lua", .source = "local a = 1\nreturn a"};
  Debugger debugger(debuggee, Mode::kForked, [&] { return Connection::open(server.url(), 120s); },
                    {.limits = {.step = 120s}, .evaluation = 120s});
  (void)debugger.start();
  for (const std::string code : {"while true do end", "repeat until false",
                                 "(function() return 1 end)()", "loadstring('x')()"}) {
    CAPTURE(code);
    CHECK(contains(DebuggerBench::text_of(debugger.evaluate(code)), "refused"));
  }
  CHECK(DebuggerBench::text_of(debugger.evaluate("1 + 1")) == "2");
  CHECK(debugger.running());
}

TEST_CASE("a script that has no room for probes is debugged without its variables") {
  // A function with 60 upvalues, the most that Lua allows, has none left for what stands for
  // `redis`.
  std::string source, sum = "0";
  for (int i = 1; i <= 60; ++i) {
    source += "local a" + std::to_string(i) + " = " + std::to_string(i) + "\n";
    sum += " + a" + std::to_string(i);
  }
  source += "local function f()\nreturn " + sum + ", redis\nend\nreturn (f())\n";
  DebuggerBench bench(source);
  const auto halt = bench.run_to({.line = 62});
  CHECK(halt.why == Why::kBreakpoint);
  CHECK_FALSE(bench->knows_locals());
  CHECK(bench->locals().empty());
  CHECK(contains(bench.print("a60"), "the script has no room for probes"));
  CHECK(contains(refusal_of([&] { (void)bench->add_watch("a60"); }), "no room for probes"));
  // Valkey 9 takes no more than 1,024 bytes of code at once.
  const auto value = bench.eval("1 + 1, KEYS[2], {0.1 + 0.2}");
  CHECK((value == "2 \"l\" {0.30000000000000004}" ||
         contains(value, "more than the debugger takes")));
}

TEST_CASE("a function's view includes the outer variables that it uses") {
  DebuggerBench bench(
      "local out = 5\n"
      "local function f(n)\n"
      "  return n + out\n"
      "end\n"
      "return f(1)");
  (void)bench.run_to({.line = 3});
  CHECK(DebuggerBench::text_of(bench->locals()) == "out=5 n=1");
  CHECK(bench.eval("n + out") == "6");
}

namespace {

// A function that is created in a loop and called.
constexpr auto kMade =
    "local sum = 0\n"
    "for i = 1, 2 do\n"
    "  local add = function(a)\n"
    "    local inner = a + 1\n"
    "    return inner\n"
    "  end\n"
    "  sum = sum + add(i)\n"
    "end\n"
    "return sum";

}  // namespace

TEST_CASE("at a function definition the enclosing function's variables are visible") {
  DebuggerBench bench(kMade);
  bench->add_breakpoint({.line = 6});
  for (int round = 1; round <= 2; ++round) {
    const auto halt = bench->go_on();
    CHECK(halt.line == 6);
    CHECK(bench.print("i") == std::to_string(round));
    CHECK(bench.print("sum") == (round == 1 ? "0" : "2"));
    CHECK(contains(bench.print("inner"), "'inner' of line 4 is not visible here"));
  }
}

TEST_CASE("at the end of a function its own variables are visible") {
  DebuggerBench bench(
      "local x = 1\n"
      "local function f(a)\n"
      "  redis.call('SET', KEYS[1], a)\n"
      "end\n"
      "f(7)\n"
      "return x");
  CHECK(bench.run_to({.line = 4}).line == 4);
  CHECK(bench.print("x") == "1");
  CHECK(bench->go_on().line == 4);
  CHECK(bench.print("a") == "7");
}

TEST_CASE("a watch does not change while its variable is out of scope") {
  DebuggerBench bench(kMade);
  (void)bench->add_watch("sum");
  Lines lines;
  for (auto halt = bench->go_on(); halt.why != Why::kEnded; halt = bench->go_on()) {
    REQUIRE(halt.why == Why::kWatch);
    lines.push_back(halt.line);
  }
  CHECK(lines == Lines{2, 2, 2});
}

TEST_CASE("a watch on a name that is a local elsewhere is evaluated") {
  DebuggerBench bench(
      "local n = 0\n"
      "local function f() local redis = redis return redis.sha1hex('') end\n"
      "f()\n"
      "redis.call('SET', KEYS[1], 5)\n"
      "return n");
  (void)bench->add_watch("redis.call('EXISTS', KEYS[1])");
  const auto halt = bench->go_on();
  CHECK(halt.why == Why::kWatch);
  CHECK(halt.line == 5);
}

TEST_CASE("expressions are checked even when no script is running") {
  DebuggerBench bench(kLoopScript);
  CHECK(bench->go_on().why == Why::kEnded);
  CHECK(contains(refusal_of([&] { (void)bench->add_watch("1 +"); }), "'1 +' is not an expression"));
  CHECK(contains(refusal_of([&] { bench->add_breakpoint({.line = 4, .condition = "i = 3"}); }),
                 "'i = 3' is not an expression"));
  CHECK(bench->add_watch("i + 1") != nullptr);
}

TEST_CASE("a condition on a variable that is not in scope stops, and the reason is reported") {
  DebuggerBench bench(kLoopScript);
  const auto halt = bench.run_to({.line = 2, .condition = "i == 99"});
  CHECK(halt.line == 2);
  CHECK(contains(halt.condition_error, "'i' of line 3 is not visible here"));
}

TEST_CASE("large variables are copied, and those that cannot be are reported") {
  DebuggerBench bench(
      "local body, odd = string.rep('x', 300000), string.rep('\\0', 100000)\n"
      "local all = string.rep('x', 2000000)\n"
      "local self = {}\n"
      "self.self = self\n"
      "return 1");
  CHECK(bench.run_to({.line = 5}).line == 5);
  const auto is_short = [](const std::string& answer) {
    return contains(answer,
                    "bytes of code and copies of variables are more than the debugger takes");
  };
  for (const auto& [code, expected] :
       {std::pair("#body, body:sub(1, 3)", "300000 \"xxx\""), std::pair("#odd", "100000")}) {
    const auto answer = bench.eval(code);
    CHECK((answer == expected || is_short(answer)));  // Valkey 9
  }
  CHECK(is_short(bench.eval("#all")));
  CHECK(contains(bench.print("self.self.x"), "not known: self.self is a table that holds itself"));
}

TEST_CASE("table keys in evaluated code are not taken for variables") {
  DebuggerBench bench("local err = 1\nreturn err");
  (void)bench->step();
  CHECK(bench.eval("error({err = 'X'})") == "! X");
  CHECK(bench.eval("({err, err = 2})[1]") == "1");
}

TEST_CASE("completion lists the fields of the table before the dot") {
  DebuggerBench bench("local t = {ab = {cd = 1, ['x y'] = 2}, 5}\nlocal n = 1\nreturn t");
  (void)bench->step();
  (void)bench->step();
  CHECK(bench->fields_of("t") == Texts{"ab"});
  CHECK(bench->fields_of("t.ab") == Texts{"cd"});
  CHECK(bench->fields_of("t.none").empty());
  CHECK(bench->fields_of("n").empty());
  CHECK(bench->fields_of("other").empty());
  CHECK(bench->fields_of("t +").empty());
}

TEST_CASE("evaluated code sees the same clock as the script") {
  const PrivateServer server;
  const Debuggee debuggee{
      .name = "t.lua", .source = "local t = redis.call('TIME')\nreturn t", .keys = {"k"}};
  Debugger debugger(
      debuggee, Mode::kSync, [&] { return Connection::open(server.url(), 120s); },
      Debugger::Options{.now = std::chrono::microseconds(1700000000000042),
                        .may_hang = true,
                        .limits = {.step = 120s},
                        .evaluation = 120s});
  (void)debugger.start();
  (void)debugger.step();
  const auto times = DebuggerBench::text_of(
      debugger.evaluate("redis.call('time')[1] == t[1], redis.pcall('TIME')[2]"));
  CHECK(times == "true \"42\"");
  const auto others = DebuggerBench::text_of(
      debugger.evaluate("redis.call('EXISTS', KEYS[1]), redis.sha1hex ~= nil"));
  CHECK(others == "0 true");
  CHECK(debugger.call({"TIME"}).reply == "[\"1700000000\",\"42\"]");
}

}  // namespace ldb_debugger_values_test
