// needs: server
#include <doctest/doctest.h>

#include <string>

#include "ldb/debugger.h"
#include "support/debugged.h"
#include "support/debugger_bench.h"
#include "support/failure.h"

namespace ldb_debugger_set_test {

using namespace rlctl::ldb;
using rlctl::test::DebuggerBench;
using support::contains;

std::string set(DebuggerBench& bench, const char* variable, const char* expression) {
  return DebuggerBench::text_of(bench->set(variable, expression));
}

std::string reply_of(DebuggerBench& bench) {
  bench->clear_breakpoints();
  bench->go_on();
  REQUIRE(bench->result().ending == Ending::kReturned);
  return std::string(bench->result().reply->text());
}

TEST_CASE(
    "a local, an upvalue, a loop's variable and a field are set, and the script goes on with "
    "them") {
  for (const auto mode : {Mode::kSync, Mode::kForked}) {
    DebuggerBench bench(
        "local sum, t = 1, {a = {1, 2}, ['b c'] = 'x'}\n"
        "local function add(n)\n"
        "  local before = sum\n"
        "  sum = sum + n\n"
        "  return before\n"
        "end\n"
        "local seen = ''\n"
        "for i = 1, 2 do\n"
        "  seen = seen .. add(i) .. ','\n"
        "end\n"
        "return seen .. sum .. t.a[2] .. t['b c'] .. KEYS[1] .. ARGV[2]",
        mode);
    bench.run_to({.line = 4});
    CHECK(set(bench, "n", "n + sum + 8") == "10");
    CHECK(bench.print("n") == "10");
    CHECK(set(bench, "sum", "100") == "100");
    CHECK(set(bench, "before", "nil") == "nil");
    CHECK(set(bench, "before", "'b'") == "\"b\"");
    const auto halt = bench->step();
    CHECK(DebuggerBench::text_of(halt.changed) == "sum=110");
    bench->clear_breakpoints();
    bench.run_to({.line = 9});
    CHECK(set(bench, "i", "5") == "5");
    CHECK(set(bench, "t.a[2]", "{deep = 1}") == "{deep = 1}");
    CHECK(bench.print("t") == "{a = {1, {deep = 1}}, [\"b c\"] = \"x\"}");
    CHECK(set(bench, "t.a[2]", "t.a[2].deep + 0.5") == "1.5");
    CHECK(set(bench, "t[\"b c\"]", "'\\0\\255'") == "\"\\000\\255\"");
    CHECK(set(bench, "KEYS[1]", "KEYS[1] .. '!'") == "\"k!\"");
    CHECK(set(bench, "ARGV[2]", "seen") == "\"b,\"");
    CHECK(reply_of(bench) == std::string("b,110,1151.5") + std::string("\0\377", 2) + "k!b,");
  }
}

TEST_CASE("a value that was set is exact") {
  DebuggerBench bench(
      "local a, b\nlocal c = 1\nreturn string.format('%.17g', a) .. tostring(b == a)");
  bench.run_to({.line = 3});
  for (const auto* value : {"1700000000123456", "-0", "inf", "-inf", "nan", "true"}) {
    const std::string code = std::string(value) == "inf"    ? "1/0"
                             : std::string(value) == "-inf" ? "-1/0"
                             : std::string(value) == "nan"  ? "0/0"
                             : std::string(value) == "-0"   ? "-tonumber('0')"
                                                            : value;
    CHECK(set(bench, "a", code.c_str()) == value);
    CHECK(bench.print("a") == value);
  }
  CHECK(set(bench, "a", "0.1 + 0.2") == "0.30000000000000004");
  CHECK(set(bench, "b", "a") == "0.30000000000000004");
  CHECK(reply_of(bench) == "0.30000000000000004true");
}

TEST_CASE("more variables than one call takes are set") {
  std::string source, sum = "return 0";
  for (int i = 0; i < 100; ++i) {
    const auto name = "v" + std::to_string(i);
    source += "local " + name + " = 0\n";
    sum += " + " + name;
  }
  DebuggerBench bench(source + sum);
  bench.run_to({.line = 101});
  for (const auto* name : {"v0", "v29", "v30", "v63", "v99"}) CHECK(set(bench, name, "2") == "2");
  bench->clear_breakpoints();
  bench->go_on();
  CHECK(bench->result().reply->integer() == 10);
}

TEST_CASE("the next stop does not show what was set as a change of the script") {
  DebuggerBench bench("local a = 1\nlocal b = 2\nreturn a + b");
  bench.run_to({.line = 2});
  CHECK(set(bench, "a", "7") == "7");
  CHECK(DebuggerBench::text_of(bench->step().changed) == "b=2");
}

TEST_CASE("setting is refused where it would have no effect, and says why") {
  DebuggerBench bench(
      "local a, t = 1, {}\n"                       // 1
      "local function one() return a end\n"        // 2
      "for i = 1, 2 do\n"                          // 3
      "  a = a + one()\n"                          // 4
      "end\n"                                      // 5
      "local late = redis.call('SET', KEYS[1],\n"  // 6
      "  a)\n"                                     // 7
      "return a");                                 // 8
  bench.run_to({.line = 4});
  CHECK(contains(set(bench, "late", "1"), "'late' of line 6 is not visible here"));
  CHECK(contains(set(bench, "other", "1"), "only local variables"));
  CHECK(contains(set(bench, "one", "nil + 1"), "!"));
  CHECK(contains(set(bench, "t.a.b", "1"), "!"));
  CHECK(contains(set(bench, "redis.call", "1"), "only local variables"));
  CHECK(contains(set(bench, "KEYS", "1"), "only the elements of KEYS"));
  CHECK_THROWS_AS(bench->set("a + 1", "1"), rlctl::UsageError);
  CHECK_THROWS_AS(bench->set("a", "1 +"), rlctl::UsageError);
  CHECK_THROWS_AS(bench->set("a", ""), rlctl::UsageError);
  CHECK_THROWS_AS(bench->set("a", "1, 2"), rlctl::UsageError);
  bench->step();
  CHECK(bench->line() == 2);
  CHECK(contains(set(bench, "a", "9"), "where a statement begins a line, not here at line 2"));
  bench->step();
  CHECK(bench->line() == 3);  // the loop goes on
  CHECK(contains(set(bench, "a", "9"), "not here at line 3"));
}

TEST_CASE("variables can be set without changing where the script stops") {
  const std::string source =
      "local a = function(x) return\n"
      "  x end local b = 1\n"
      "local function two(x)\n"
      "  local y = x; local z = y\n"
      "  return z\n"
      "end\n"
      "do\n"
      "  local c\n"
      "  c = two(a(1))\n"
      "  if c > 1 then\n"
      "    b = 2\n"
      "  elseif c then\n"
      "    b = 3\n"
      "  end\n"
      "end\n"
      "repeat\n"
      "  b = b + 1 until b > 5\n"
      "while true do\n"
      "  if b then break end\n"
      "end\n"
      "local t = {\n"
      "  two(1),\n"
      "  (two)(2)\n"
      "}\n"
      "(two)(3)\n"
      "return {unpack(t),\n"
      "  b}\n";
  const auto told = rlctl::test::debug(rlctl::test::probed(source));
  const auto script =
      rlctl::test::probed(source, {.settable = {told.stops.begin(), told.stops.end()}});
  CHECK(rlctl::test::debug(script).stops == told.stops);
  std::vector<int> settable;
  for (const auto& probe : script.probes) {
    if (probe.can_set) settable.push_back(probe.line);
  }
  CHECK(settable == std::vector<int>{4, 5, 8, 9, 10, 13, 17, 19, 21, 25, 26});
}

TEST_CASE("the variables of callers are shown where their values are those of that call") {
  DebuggerBench bench(
      "local sum, t, key = 0, {}, 'k'\n"  // 1
      "local function add(n)\n"           // 2
      "  local before = sum\n"            // 3
      "  sum = sum + n\n"                 // 4
      "  t[#t + 1] = n\n"                 // 5
      "  if n > 1 then add(n - 1) end\n"  // 6
      "  return before\n"                 // 7
      "end\n"                             // 8
      "local function outer(x)\n"         // 9
      "  local y = x * 2\n"               // 10
      "  y = add(y)\n"                    // 11
      "  return y\n"                      // 12
      "end\n"                             // 13
      "local a = 1\n"                     // 14
      "a = outer(a)\n"                    // 15
      "return a");                        // 16
  const auto to = [&](int line) {
    while (bench->line() != line) bench->step();
  };
  to(6);
  CHECK(DebuggerBench::text_of(bench->locals()) == "sum=2 t={2} add=function n=2 before=0");
  CHECK(bench->select_frame(1).empty());
  CHECK(DebuggerBench::text_of(bench->locals()) == "add=function x=1 y=2");
  CHECK(bench.print("y + 1") == "3");
  CHECK(contains(set(bench, "y", "1"), "only the innermost"));
  CHECK(bench->select_frame(2).empty());
  CHECK(DebuggerBench::text_of(bench->locals()) ==
        "sum=2 t={2} key=\"k\" add=function outer=function a=1");
  CHECK_THROWS_AS(static_cast<void>(bench->select_frame(3)), rlctl::UsageError);
  CHECK(bench->select_frame(0).empty());
  CHECK(bench.print("n") == "2");
  bench->step();  // into the second call
  CHECK(bench->line() == 3);
  CHECK(contains(bench->select_frame(1), "of another call"));
  CHECK(bench->locals().empty());
  CHECK(bench->select_frame(2).empty());
  to(7);
  bench->step();
  CHECK(bench->line() == 7);
  CHECK(bench->select_frame(1).empty());
  to(12);
  CHECK(DebuggerBench::text_of(bench->locals()) == "add=function x=1 y=0");
  CHECK(bench->select_frame(1).empty());
  CHECK(contains(DebuggerBench::text_of(bench->locals()), "t={2, 1} key=\"k\""));
  CHECK_FALSE(
      contains(DebuggerBench::text_of(bench->locals()), "sum"));  // add() may have changed it
}

TEST_CASE("after a free run, the variables of callers are not known") {
  DebuggerBench bench(
      "local function f()\n  local a = 1\n  return a\nend\nlocal b = f()\nreturn b");
  bench->add_breakpoint({.line = 3});
  bench->go_on();
  CHECK(bench->line() == 3);
  const auto why = bench->select_frame(1);
  CHECK((why.empty() || contains(why, "ran freely")));  // the server may not run freely
  CHECK(bench->locals().empty() == !why.empty());
}

}  // namespace ldb_debugger_set_test
