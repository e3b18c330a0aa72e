// needs: server
#include "ldb/debugger.h"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/debugger_bench.h"
#include "support/failure.h"

namespace ldb_debugger_test {

using namespace std::chrono_literals;
using rlctl::UsageError;
using namespace rlctl::ldb;
using namespace rlctl::test;
using support::contains;
using Lines = std::vector<int>;
using Texts = std::vector<std::string>;
using Why = Halt::Why;

TEST_CASE("the debugger steps line by line and knows what each line changed") {
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    DebuggerBench bench(
        "local big = 1700000000123456\n"
        "local got = redis.call('SET', KEYS[1], ARGV[1])\n"
        "redis.debug('here')\n"
        "return big + 1",
        mode);
    CHECK(bench.halt.why == Why::kStarted);
    CHECK(bench.halt.line == 1);
    CHECK(bench->locals().empty());

    auto halt = bench->step();
    CHECK(halt.why == Why::kStepped);
    CHECK(halt.line == 2);
    CHECK(DebuggerBench::text_of(halt.changed) == "big=1700000000123456");

    halt = bench->step();
    REQUIRE(halt.calls.size() == 1);
    CHECK(halt.calls[0].words == Texts{"SET", "k", "3"});
    CHECK(halt.calls[0].reply == "\"+OK\"");
    CHECK(DebuggerBench::text_of(bench->locals()) == "big=1700000000123456 got={ok = \"OK\"}");

    halt = bench->step();
    CHECK(halt.messages.size() == 1);
    CHECK(halt.changed.empty());
    halt = bench->step();
    CHECK(halt.why == Why::kEnded);
    CHECK_FALSE(bench->running());
    CHECK(bench->result().ending == Ending::kReturned);
    CHECK(bench->result().reply->integer() == 1700000000123457);
  }
}

TEST_CASE("the debugger continues to the next breakpoint, or to the end if there is none") {
  DebuggerBench bench(kLoopScript);
  auto halt = bench.run_to({.line = 5});
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(halt.line == 5);
  CHECK(DebuggerBench::text_of(bench->locals()) == "count=1 t={a = {10, 20}} i=1");
  halt = bench->go_on();
  CHECK(DebuggerBench::text_of(halt.changed) == "count=3 i=2");
  REQUIRE(halt.calls.size() == 1);
  CHECK(halt.calls[0].words == Texts{"INCR", "k"});
  // If the server does not interrupt long-running scripts, the debugger stops at each line.
  CHECK(halt.calls[0].is_silent == !halt.calls[0].reply);
  CHECK(bench->remove_breakpoint(5));
  CHECK_FALSE(bench->remove_breakpoint(5));
  halt = bench->go_on();
  CHECK(halt.why == Why::kEnded);
  CHECK(bench->result().reply->integer() == 15);
}

TEST_CASE(
    "a breakpoint on a line without code is refused, and the nearest lines with code are "
    "suggested") {
  DebuggerBench bench(kLoopScript);
  CHECK(
      contains(refusal_of([&] { bench->add_breakpoint({.line = 7}); }), "nothing stops at line 7"));
  CHECK(contains(refusal_of([&] { bench->add_breakpoint({.line = 7}); }), "and 8"));
  CHECK(contains(refusal_of([&] { bench->add_breakpoint({.line = 99}); }), "does is 8"));
  CHECK(contains(refusal_of([&] { bench->add_breakpoint({.line = 0}); }), "does is 1"));
  CHECK(bench->breakpoints().empty());
}

TEST_CASE(
    "a breakpoint stops only if its condition is true; an error in the condition stops and is "
    "reported") {
  DebuggerBench bench(kLoopScript);
  auto halt = bench.run_to({.line = 4, .condition = "i == 3 and t.a[2] == 20"});
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(halt.condition_error.empty());
  CHECK(bench.print("i") == "3");
  halt = bench.run_to({.line = 4, .condition = "t.b.c == 1"});
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(contains(halt.condition_error, "attempt to index field 'b'"));
  CHECK(bench.print("i") == "4");
  CHECK(contains(refusal_of([&] { bench->add_breakpoint({.line = 4, .condition = "i =="}); }),
                 "'i ==' is not an expression"));
  CHECK(bench->breakpoints().at(4).condition == "t.b.c == 1");
}

TEST_CASE("a watch stops when its value changes and keeps the previous value") {
  DebuggerBench bench(kLoopScript);
  CHECK(DebuggerBench::text_of(bench->add_watch("count")->last) == "nil");
  (void)bench->add_watch("count > 2");
  Lines lines;
  Texts changes;
  for (int i = 0; i < 4; ++i) {
    const auto halt = bench->go_on();
    REQUIRE(halt.why == Why::kWatch);
    lines.push_back(halt.line);
    std::string text;
    for (const auto& change : halt.watches) {
      text += change.watch.expression + ": " + DebuggerBench::text_of(change.before) + " > " +
              DebuggerBench::text_of(change.watch.last) + ";";
    }
    changes.push_back(text);
  }
  CHECK(lines == Lines{2, 5, 5, 5});
  CHECK(contains(changes[0], "count: nil > 0;"));
  CHECK(contains(changes[0], "count > 2: ! attempt to compare"));
  CHECK(changes[1] == "count: 0 > 1;");
  CHECK(changes[2] == "count: 1 > 3;count > 2: false > true;");
  CHECK(bench->remove_watch(1));
  CHECK_FALSE(bench->remove_watch(1));
  CHECK_THROWS_AS((void)bench->add_watch("count +"), UsageError);
  // While the variable is out of scope, the watch keeps its value.
  bench->clear_watches();
  (void)bench->add_watch("i");
  bench->add_breakpoint({.line = 8});
  for (int i = 3; i <= 4; ++i) CHECK(bench->go_on().why == Why::kWatch);
  CHECK(bench->go_on().why == Why::kBreakpoint);
  CHECK(bench->line() == 8);
  CHECK(DebuggerBench::text_of(bench->watches()[0].last) == "5");
  CHECK(bench->go_on().why == Why::kEnded);
}

TEST_CASE("next steps over a call unless the called function contains a breakpoint") {
  DebuggerBench bench(
      "local function double(n)\n"  // 1
      "  local m = n * 2\n"         // 2
      "  return m\n"                // 3
      "end\n"                       // 4
      "local a = double(1)\n"       // 5
      "local b = double(a)\n"       // 6
      "return b");                  // 7
  Lines lines;
  while (bench->running()) {
    lines.push_back(bench->line());
    (void)bench->next();
  }
  // Lua's position after a function definition is its `end`.
  CHECK(lines.size() == 4);
  CHECK(lines.back() == 7);
  CHECK(lines[lines.size() - 2] == 6);
  (void)bench->start();
  bench->add_breakpoint({.line = 3});
  (void)bench->next();
  const auto halt = bench->next();
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(halt.line == 3);
  CHECK(DebuggerBench::text_of(bench->locals()) == "n=1 m=2");
  const auto frames = bench->backtrace();
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].line == 3);
  CHECK(frames[1].line == 5);
}

TEST_CASE("finish runs until the function has returned, and from the main function to the end") {
  constexpr auto kCalls =
      "local function inner(n)\n"              // 1
      "  local s = 0\n"                        // 2
      "  for i = 1, n do s = s + i end\n"      // 3
      "  return s\n"                           // 4
      "end\n"                                  // 5
      "local function outer()\n"               // 6
      "  local a = inner(3)\n"                 // 7
      "  local b = inner(4)\n"                 // 8
      "  return a + b\n"                       // 9
      "end\n"                                  // 10
      "local c = coroutine.wrap(function()\n"  // 11
      "  local d = 1\n"                        // 12
      "  return d\n"                           // 13
      "end)\n"                                 // 14
      "local sum = outer()\n"                  // 15
      "sum = sum + c()\n"                      // 16
      "return sum\n";                          // 17
  DebuggerBench bench(kCalls);
  const auto step_to = [&](int line) {
    while (bench->line() != line) (void)bench->step();
  };
  step_to(2);
  CHECK(bench->finish().line == 8);
  CHECK(bench.print("a") == "6");
  step_to(4);
  CHECK(bench->finish().line == 9);
  auto halt = bench->finish();
  CHECK(halt.line == 16);
  CHECK(halt.why == Why::kStepped);
  CHECK(bench.print("sum") == "16");
  step_to(12);
  CHECK(bench->finish().line == 17);
  CHECK(bench.print("sum") == "17");
  CHECK(bench->finish().why == Why::kEnded);
  // A breakpoint stops it.
  (void)bench->start();
  bench->add_breakpoint({.line = 4});
  CHECK(bench->finish().line == 4);
  bench->clear_breakpoints();
  bench->add_breakpoint({.line = 9});
  CHECK(bench->finish().line == 8);
  halt = bench->finish();
  CHECK(halt.line == 9);
  CHECK(halt.why == Why::kBreakpoint);
}

TEST_CASE("the user can call Redis commands by hand, and failures are reported") {
  DebuggerBench bench(kLoopScript);
  CHECK(bench->call({"SET", "made", "a b"}).reply == "\"+OK\"");
  auto call = bench->call({"GET", "made"});
  CHECK(call.words == Texts{"GET", "made"});
  CHECK(call.reply == "\"a b\"");
  call = bench->call({"INCR", "made"});
  REQUIRE(call.error);
  CHECK(contains(*call.error, "not an integer"));
  CHECK(bench->call({"NOSUCH"}).error);
  CHECK_THROWS_AS((void)bench->call({"SET", "made", ""}), UsageError);
  CHECK(bench->running());
}

TEST_CASE("the user can stop a long-running script and continue it") {
  DebuggerBench bench(
      "local n, go = 0, true\n"
      "while go do\n"
      "  n = n + 1\n"
      "end\n"
      "return n");
  bench.stop_after(3);
  auto halt = bench->go_on();
  CHECK(halt.why == Why::kStopped);
  CHECK(halt.line >= 2);
  CHECK(halt.line <= 4);
  CHECK(bench->running());
  REQUIRE(bench->locals().size() == 2);
  REQUIRE(bench->locals()[0].local.name == "n");
  const double before = bench->locals()[0].value.number;
  CHECK(before > 0);
  bench.stop_after(3);
  halt = bench->go_on();
  CHECK(halt.why == Why::kStopped);
  CHECK(bench->locals()[0].value.number > before);
  // The same when the debugger stops at each line.
  (void)bench->add_watch("go");
  bench.stop_after(100);
  CHECK(bench->go_on().why == Why::kStopped);
}

TEST_CASE("a loop on a single line can be stopped too, and shows no outdated values") {
  constexpr auto kOneLine =
      "local n, t = 0, {1}\n"
      "while n >= 0 do n = n + 1 end\n"
      "return n";
  DebuggerBench bench(kOneLine);
  bench.stop_after(3);
  CHECK(bench->go_on().why == Why::kStopped);
  CHECK(bench->locals().empty());
  CHECK(contains(bench.print("t"), "'t' of line 1 is not visible here"));
  // The same when stepping.
  DebuggerBench other(kOneLine);
  for (int n = 0; n < 4; ++n) (void)other->step();
  CHECK(other->line() == 2);
  CHECK(other->locals().empty());
}

TEST_CASE("a script can be stopped whatever the number of instructions in its loop") {
  for (const std::string more : {"", " + 1", " + 1 + i", " + 1 + i - n", " + (i * 2 - n % 3)"}) {
    DebuggerBench bench("local n = 0\nfor i = 1, 2e9 do\n  n = n + i" + more + "\nend\nreturn n");
    bench.stop_after(2);
    CHECK(bench->go_on().why == Why::kStopped);
  }
}

namespace {

/// Lines of many kinds, which control reaches in different ways.
const char* const kForms =
    "local sum, t = 0, {}\n"                      // 1
    "local function add(x)\n"                     // 2
    "  local twice = x * 2\n"                     // 3
    "  sum = sum + twice\n"                       // 4
    "end\n"                                       // 5
    "local one = function(x) return x + 1 end\n"  // 6
    "for i = 1, 4 do\n"                           // 7
    "  if i % 3 == 1 then\n"                      // 8
    "    add(i)\n"                                // 9
    "  elseif i % 3 == 2 then\n"                  // 10
    "    t[#t + 1] = one(i)\n"                    // 11
    "  else\n"                                    // 12
    "    sum = sum + 100\n"                       // 13
    "  end\n"                                     // 14
    "end\n"                                       // 15
    "local n = 0\n"                               // 16
    "while n < 3 do\n"                            // 17
    "  n = n + 1\n"                               // 18
    "  if n == 2 then break end\n"                // 19
    "end\n"                                       // 20
    "repeat\n"                                    // 21
    "  local m = n\n"                             // 22
    "  n = m - 1\n"                               // 23
    "until m == 0\n"                              // 24
    "for k = 1, 2 do sum = sum + k end\n"         // 25
    "return sum\n";                               // 26

/// The stops at each line, with the variables visible there, as the script moves.
std::map<int, Texts> stops_of(DebuggerBench& bench, const std::function<Halt()>& move) {
  std::map<int, Texts> stops;
  for (auto halt = move(); bench->running(); halt = move()) {
    stops[halt.line].push_back(DebuggerBench::text_of(bench->locals()));
  }
  return stops;
}

}  // namespace

TEST_CASE("a breakpoint stops each time its line begins, with the same variables as after a step") {
  DebuggerBench stepped(kForms);
  const auto stops = stops_of(stepped, [&] { return stepped->step(); });
  CHECK(stops.size() == 19);
  DebuggerBench bench(kForms);
  for (const auto& [stop_line, expected] : stops) {
    const auto line = stop_line;  // CAPTURE cannot take a structured binding
    CAPTURE(line);
    for (const std::string condition : {"", "true", "#tostring(1) == 1"}) {
      CAPTURE(condition);
      bench->clear_breakpoints();
      bench->add_breakpoint({.line = line, .condition = condition});
      (void)bench->start();
      auto found = stops_of(bench, [&] { return bench->go_on(); });
      CHECK(found.size() == 1);
      CHECK(found[line] == expected);
    }
  }
}

TEST_CASE("two breakpoints are reached in turn, and steps between them show all variables") {
  DebuggerBench bench(kForms);
  bench->add_breakpoint({.line = 4, .condition = "twice == 8"});
  auto halt = bench.run_to({.line = 18, .condition = "n == 1"});
  CHECK(halt.line == 4);
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(DebuggerBench::text_of(bench->locals()) == "sum=102 x=4 twice=8");
  while (halt.line != 7) halt = bench->step();
  CHECK(bench.print("sum") == "110");
  CHECK(bench.print("t") == "{3}");
  halt = bench->go_on();
  CHECK(halt.line == 18);
  CHECK(bench.print("sum") == "110");
  CHECK(bench->go_on().why == Why::kEnded);
}

TEST_CASE("a condition sees the script's own values, and stops if it cannot be evaluated") {
  DebuggerBench bench(
      "local t, f = {n = 0}, function() end\n"
      "local now = 1700000000123456\n"
      "for i = 1, 50 do\n"
      "  t.n, now = t.n + 1, now + 1\n"
      "  redis.call('INCR', KEYS[1])\n"
      "end\n"
      "return now");
  const auto stop_if = [&](const std::string& condition) {
    bench->clear_breakpoints();
    bench->add_breakpoint({.line = 5, .condition = condition});
    (void)bench->start();
    return bench->go_on();
  };
  CHECK(stop_if("t.n == 40").why == Why::kBreakpoint);
  CHECK(bench.print("i") == "40");
  (void)stop_if("now == 1700000000123466 and f");
  CHECK(bench.print("i") == "10");
  (void)stop_if("(i - 5) > 2 and KEYS[1] == 'k' and ARGV[2] == \"x\"");
  CHECK(bench.print("i") == "8");
  (void)stop_if("i == 49 and redis.call('GET', KEYS[1])");
  CHECK(bench.print("i") == "49");
  auto halt = stop_if("t.n.x.y");
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(contains(halt.condition_error, "attempt to index"));
  CHECK(bench.print("i") == "1");
  halt = stop_if("nosuch > 1");
  CHECK(contains(halt.condition_error, "nosuch"));
  CHECK(stop_if("t.n > 50").why == Why::kEnded);
}

TEST_CASE("a script that replaces the metatable of KEYS is debugged as well") {
  DebuggerBench bench(
      "setmetatable(KEYS, {})\n"
      "local n = 0\n"
      "for i = 1, 5 do\n"
      "  n = n + i\n"
      "end\n"
      "setmetatable(KEYS, nil)\n"
      "return n");
  bench->add_breakpoint({.line = 4, .condition = "i == 3"});
  const auto halt = bench.run_to({.line = 7});
  CHECK(halt.line == 4);
  CHECK(bench.print("n") == "3");
  const auto next = bench->go_on();
  if (contains(next.condition_error, "more than the debugger takes")) return;  // Valkey 9
  CHECK(next.line == 7);
  CHECK(bench.print("n") == "15");
  CHECK(bench->go_on().why == Why::kEnded);
}

TEST_CASE("redis.breakpoint() stops the script") {
  DebuggerBench bench("local a = 1\nredis.breakpoint()\na = 2\nreturn a");
  const auto halt = bench->go_on();
  CHECK(halt.why == Why::kCalledFor);
  CHECK(halt.line == 3);
}

TEST_CASE("the debugger restarts the script and keeps its breakpoints and watches") {
  DebuggerBench bench(kLoopScript);
  bench->add_breakpoint({.line = 8});
  (void)bench->add_watch("KEYS[1]");
  CHECK(bench->go_on().line == 8);
  CHECK(bench->go_on().why == Why::kEnded);
  auto halt = bench->start();
  CHECK(halt.why == Why::kStarted);
  CHECK(halt.line == 1);
  CHECK(DebuggerBench::text_of(bench->watches()[0].last) == "\"k\"");
  CHECK(bench->go_on().line == 8);
  // Restarting in the middle works too; in the server itself, the abandoned run finishes first.
  CHECK(bench->start().line == 1);
}

TEST_CASE("an error ends the script and has a line number") {
  DebuggerBench bench("local a = 1\nlocal t\nreturn t.x");
  CHECK(bench->go_on().why == Why::kEnded);
  CHECK(bench->result().ending == Ending::kRunTimeError);
  CHECK(bench->result().error_line == 3);
  DebuggerBench broken("local a = 1\nlocal = 2");
  CHECK(broken.halt.why == Why::kEnded);
  CHECK(broken->result().ending == Ending::kCompileError);
  CHECK(broken->result().error_line == 2);
}

TEST_CASE(
    "next does not stop in a coroutine that it resumes, and steps out of the one that it is in") {
  constexpr auto kCoroutine =
      "local co = coroutine.wrap(function(a)\n"
      "  local b = coroutine.yield(a + 1)\n"
      "  return b\n"
      "end)\n"
      "local x = co(1)\n"
      "local y = co(5)\n"
      "return x + y";
  DebuggerBench bench(kCoroutine);
  Lines lines;
  while (bench->running()) lines.push_back(bench->next().line);
  CHECK(lines == Lines{4, 1, 5, 6, 7, 7});
  (void)bench->start();
  CHECK(bench.run_to({.line = 2}).line == 2);
  CHECK(bench->next().line == 6);
}

TEST_CASE("next over a tail call returns to the caller") {
  DebuggerBench bench(
      "local function g() \n"
      "  local a = 1\n"
      "  return a\n"
      "end\n"
      "local function f()\n"
      "  return g()\n"
      "end\n"
      "local r = f()\n"
      "return r");
  CHECK(bench.run_to({.line = 6}).line == 6);
  CHECK(bench->next().line == 9);
}

TEST_CASE("a watch that never ends is removed and named") {
  constexpr auto kEndless = "(function() while true do end end)()";
  DebuggerBench bench(kLoopScript, Mode::kSync, 500ms);
  CHECK(bench->add_watch(kEndless) == nullptr);
  CHECK(contains(bench->result().message, "to watch 1, which is removed"));
  CHECK(bench->watches().empty());
  // The server that it ran on hangs for good.
  DebuggerBench other(kLoopScript, Mode::kSync, 500ms);
  CHECK(other.run_to({.line = 4, .condition = kEndless}).why == Why::kEnded);
  CHECK(other->result().ending == Ending::kCutOff);
  CHECK(contains(other->result().message,
                 "to the condition of the breakpoint at 4, which is removed"));
  CHECK(other->breakpoints().empty());
}

}  // namespace ldb_debugger_test
