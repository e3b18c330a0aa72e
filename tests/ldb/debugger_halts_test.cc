// needs: server
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ldb/debugger.h"
#include "support/debugged.h"
#include "support/debugger_bench.h"
#include "support/failure.h"

// What halts a script within a line: a call, or an error that nothing catches; and a given probe.

namespace ldb_debugger_halts_test {

using namespace rlctl::ldb;
using namespace rlctl::test;
using support::contains;
using Texts = std::vector<std::string>;
using Why = Halt::Why;

namespace {

/// Halts at errors.
class ErrorBench : public DebuggerBench {
 public:
  explicit ErrorBench(std::string source, Mode mode = Mode::kSync)
      : DebuggerBench(std::move(source), mode, std::chrono::seconds(120), true) {}
};

std::vector<int> lines_of(const std::vector<Frame>& frames) {
  std::vector<int> lines;
  for (const auto& frame : frames) lines.push_back(frame.line);
  return lines;
}

/// How a script ends, from its first line on.
std::string end_of(DebuggerBench& bench) {
  while (bench->running()) (void)bench->go_on();
  const auto& result = bench->result();
  if (result.ending == Ending::kReturned) return to_text(*result.reply);
  return std::to_string(result.error_line) + ": " + result.message;
}

}  // namespace

TEST_CASE("an error that nothing catches halts the script, with its frames and variables") {
  constexpr auto kSource =
      "local sum = 1\n"                          // 1
      "local function add(n)\n"                  // 2
      "  local twice = n * 2\n"                  // 3
      "  sum = sum + twice.x\n"                  // 4
      "  return sum\n"                           // 5
      "end\n"                                    // 6
      "local ok = pcall(add, 3)\n"               // 7
      "local big = 1700000000123456\n"           // 8
      "local t = {a = big}\n"                    // 9
      "for i = 1, 3 do t.i = i; t[i] = i end\n"  // 10
      "local r = add(4)\n"                       // 11
      "return r";                                // 12
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    for (const bool steps : {false, true}) {
      CAPTURE(steps);
      ErrorBench bench(kSource, mode);
      auto halt = bench.halt;
      while (halt.why == Why::kStarted || halt.why == Why::kStepped) {
        halt = steps ? bench->step() : bench->go_on();
      }
      REQUIRE(halt.why == Why::kError);
      CHECK(halt.line == 4);
      CHECK(contains(halt.error, "attempt to index local 'twice' (a number value)"));
      CHECK_FALSE(contains(halt.error, "user_script"));
      CHECK(DebuggerBench::text_of(bench->locals()) == "sum=1 n=4 twice=8");
      CHECK(lines_of(bench->backtrace()) == std::vector{4, 11});
      CHECK(bench.eval("twice + sum") == "9");
      CHECK(bench->call({"GET", "k"}).reply == "NULL");
      CHECK(end_of(bench).starts_with("4: attempt to index local 'twice'"));
    }
  }
}

TEST_CASE("after it has halted, a script ends with the error that it would have had") {
  for (const std::string source : {
           "local a = nil\nlocal b = a + 1\nreturn b",
           "local a = 1\nerror('x')",
           "local a = 1\nerror('x', 0)",
           "local a = 1\nerror({err = 'MINE too bad'})",
           "local a = 1\nerror(redis.error_reply('MINE too bad'))",
           "local a = 1\nreturn redis.call('INCR', KEYS[1], 'x')",
           "redis.call('SET', KEYS[1], 'x')\nlocal b = redis.call('INCR', KEYS[1])\nreturn b",
           "local a = 1\nredis.call()",
           "local a = 1\nreturn not_there",
           "local function f()\n  return 1 + f()\nend\nreturn f()",
           "local function f(s)\n  return (string.gsub(s, '.', f))\nend\nreturn f('x')",
           "local f = coroutine.wrap(function()\n  error('within')\nend)\nf()",
           "local a = 1\nassert(false, 'refused')",
           "local a = 1\nassert(loadstring('x = = 1'))",
       }) {
    CAPTURE(source);
    DebuggerBench plain(source);
    while (plain->running()) (void)plain->step();
    const auto expected = end_of(plain);
    ErrorBench halting(source);
    CHECK(halting->go_on().why == Why::kError);
    CHECK(end_of(halting) == expected);
    ErrorBench passing(source);
    passing->set_stops_at_errors(false);
    CHECK(passing->go_on().why == Why::kEnded);
    CHECK(passing->result().message == plain->result().message);
  }
}

TEST_CASE("errors that the script catches, and error replies, do not halt it") {
  ErrorBench bench(
      "local a = pcall(error, 'x')\n"
      "local b = xpcall(function() return nil + 1 end, function(e) return e end)\n"
      "local c = redis.pcall('INCR')\n"
      "local d = coroutine.resume(coroutine.create(function() error({}) end))\n"
      "return redis.error_reply('MINE no')");
  CHECK(bench->go_on().why == Why::kEnded);
  CHECK(bench->result().ending == Ending::kReturned);
  CHECK(contains(end_of(bench), "MINE no"));
}

TEST_CASE("a script that is halted at an error can be aborted, and started again") {
  ErrorBench bench("local a = 1\nerror('x')");
  for (int i = 0; i < 2; ++i) {
    CHECK(bench->go_on().why == Why::kError);
    CHECK(bench->abort_script().why == Why::kEnded);
    CHECK(bench->result().ending == Ending::kAborted);
    CHECK(bench->start().line == 1);
    CHECK(bench->step().line == 2);
    CHECK(bench->abort_script().why == Why::kEnded);
    CHECK(bench->result().ending == Ending::kAborted);
    const auto halt = bench->start();
    CHECK(halt.why == Why::kStarted);
    CHECK(halt.line == 1);
  }
}

TEST_CASE("halting at errors leaves lines, upvalues and many locals as they are") {
  ErrorBench many(locals(200) + "return v1 + nil");
  CHECK(many->go_on().why == Why::kError);
  CHECK(many->line() == 201);
  CHECK(many.print("v200") == "1");
  ErrorBench shebang("#!lua flags=no-writes\nlocal a = 1\nreturn a + nil\n");
  if (shebang->running()) {  // not before Redis 7.0
    CHECK(shebang->go_on().line == 3);
    CHECK(shebang.print("a") == "1");
  }
}

TEST_CASE("variables that another call of the function may have reported are not shown") {
  ErrorBench bench(
      "local function down(n)\n"    // 1
      "  if n == 0 then\n"          // 2
      "    return nil\n"            // 3
      "  end\n"                     // 4
      "  return down(n - 1) + 1\n"  // 5
      "end\n"                       // 6
      "return down(2)");            // 7
  CHECK(bench->go_on().why == Why::kError);
  CHECK(bench->line() == 5);
  CHECK(bench->locals().empty());
  CHECK(lines_of(bench->backtrace()) == std::vector{5, 5, 7});
}

TEST_CASE("a script halts before the calls that were asked for, whatever it calls them") {
  constexpr auto kSource =
      "local call, key = redis.call, KEYS[1]\n"  // 1
      "local function count(by)\n"               // 2
      "  local now = call('incrby', key, by)\n"  // 3
      "end\n"                                    // 4
      "for i = 1, 3 do\n"                        // 5
      "  count(i)\n"                             // 6
      "  redis.pcall('EXPIRE', key, 60)\n"       // 7
      "end\n"                                    // 8
      "return redis.call('GET', key)";           // 9
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    DebuggerBench bench(kSource, mode);
    bench->set_call_stops({"incrby"});
    for (const int i : {1, 2, 3}) {
      const auto halt = bench->go_on();
      REQUIRE(halt.why == Why::kCall);
      CHECK(halt.call == "incrby");
      CHECK(halt.line == 3);
      CHECK(lines_of(bench->backtrace()) == std::vector{3, 6});
      if (i == 1) CHECK(bench->call({"GET", "k"}).reply == "NULL");
      CHECK(bench->finish().line == 7);
      CHECK(bench.print("i") == std::to_string(i));
    }
    bench->set_call_stops({"redis.pcall", "get"});
    auto halt = bench->go_on();
    CHECK(halt.why == Why::kCall);
    CHECK(halt.call == "redis.pcall");
    CHECK(halt.line == 7);
    CHECK(bench.print("key .. i") == "\"k3\"");
    // The same when it steps.
    (void)bench->start();
    Texts calls;
    while (bench->running()) {
      halt = bench->step();
      if (halt.why == Why::kCall) calls.push_back(std::to_string(halt.line) + halt.call);
    }
    CHECK(calls == Texts{"7redis.pcall", "7redis.pcall", "7redis.pcall", "9get"});
    bench->set_call_stops({});
    (void)bench->start();
    CHECK(bench->go_on().why == Why::kEnded);
  }
}

TEST_CASE("breakpoints, calls and errors halt a script in the order in which it comes to them") {
  ErrorBench bench(
      "local n = 0\n"                      // 1
      "for i = 1, 2 do\n"                  // 2
      "  n = n + i\n"                      // 3
      "  redis.call('SET', KEYS[1], n)\n"  // 4
      "end\n"                              // 5
      "return n .. {}");                   // 6
  bench->set_call_stops({"set"});
  bench->add_breakpoint({.line = 3});
  bench->add_breakpoint({.line = 4, .condition = "i == 2"});
  Texts halts;
  while (true) {
    const auto halt = bench->go_on();
    if (!bench->running()) break;
    const auto* why = halt.why == Why::kCall ? "call" : halt.why == Why::kError ? "error" : "break";
    halts.push_back(why + std::to_string(halt.line) + " n=" + bench.print("n"));
  }
  CHECK(halts ==
        Texts{"break3 n=0", "call4 n=1", "break3 n=1", "break4 n=3", "call4 n=3", "error6 n=3"});
}

TEST_CASE("a script can be run again up to the last line that it reached") {
  ErrorBench bench(
      "local n = tonumber(ARGV[1])\n"          // 1
      "local function denied(left)\n"          // 2
      "  return {0, left}\n"                   // 3
      "end\n"                                  // 4
      "for i = 1, 40 do\n"                     // 5
      "  n = n + i\n"                          // 6
      "end\n"                                  // 7
      "if n > 10 then return denied(n) end\n"  // 8
      "return {1, n}");                        // 9
  bench->set_counts_probes(true);
  bench->add_breakpoint({.line = 6, .condition = "i == 7"});
  CHECK(bench->go_on().line == 6);
  bench->remove_breakpoint(6);
  CHECK(bench->go_on().why == Why::kEnded);
  const auto count = bench->result().probe_count;
  REQUIRE(count > 40);
  (void)bench->start();
  bench->add_breakpoint({.line = 6});
  CHECK(bench->go_on_to_probe(count).why == Why::kStepped);
  CHECK(bench->line() == 3);
  CHECK(DebuggerBench::text_of(bench->locals()) == "left=823");
  CHECK(bench->step().why == Why::kEnded);
  CHECK(bench->result().probe_count == count);
}

TEST_CASE("a script that spends its time in calls is stopped, too") {
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    DebuggerBench bench(
        "local n = 0\n"                    // 1
        "while true do\n"                  // 2
        "  n = n + 1\n"                    // 3
        "  redis.call('ECHO', ARGV[2])\n"  // 4
        "end",                             // 5
        mode);
    bench.stop_after(3);
    CHECK(bench->go_on().why == Why::kStopped);
    CHECK(bench->running());
  }
}

TEST_CASE("a stop between the instructions that fetch and call a probe changes nothing") {
  ErrorBench bench(
      "local n, a, b, c = 0, 1, 2, 3\n"  // 1
      "while true do\n"                  // 2
      "  n = n + 1\n"                    // 3
      "end");                            // 4
  double before = 0;
  for (int stops = 0; stops < 40; ++stops) {
    bench.stop_after(1);
    REQUIRE(bench->go_on().why == Why::kStopped);
    REQUIRE(bench->running());
    REQUIRE(bench->locals().size() == 4);
    const double now = bench->locals()[0].value.number;
    REQUIRE(now > before);
    before = now;
  }
}

}  // namespace ldb_debugger_halts_test
