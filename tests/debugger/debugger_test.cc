#include "debugger/engine_debugger.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/failure.h"

namespace debugger_debugger_test {

using rlctl::UsageError;
using namespace rlctl::debugger;
using support::contains;
using Lines = std::vector<int>;
using Texts = std::vector<std::string>;
using Why = Halt::Why;

namespace {

std::string text_of(const rlctl::lua::Evaluation& evaluation) {
  if (evaluation.outcome != rlctl::lua::Evaluation::Outcome::kValues) {
    return "! " + evaluation.message;
  }
  std::string text;
  for (const auto& value : evaluation.values) {
    text += (text.empty() ? "" : " ") + rlctl::lua::text_of(value);
  }
  return text;
}

/// "a=1 b=nil", upvalues with a "^".
std::string text_of(const std::vector<rlctl::lua::Variable>& variables) {
  std::string text;
  for (const auto& one : variables) {
    text += (text.empty() ? "" : " ") + one.name + (one.is_upvalue() ? "^" : "") + "=" +
            rlctl::lua::text_of(one.value);
  }
  return text;
}

/// A script in a debugger, at its first line.
class Bench {
 public:
  explicit Bench(std::string source, bool stops_at_errors = false)
      : debuggee_{.name = "test.lua",
                  .source = std::move(source),
                  .keys = {"k", "l"},
                  .arguments = {"3", "x"}},
        debugger_(debuggee_, keys,
                  {.wants_stop = [this] { return --polls_ <= 0; },
                   .on_message =
                       [this](int line, const std::string& text) {
                         messages.push_back(std::to_string(line) + " " + text);
                       },
                   .stops_at_errors = stops_at_errors}) {
    halt = debugger_.start();
  }

  EngineDebugger* operator->() { return &debugger_; }
  void stop_after(std::int64_t polls) { polls_ = polls; }
  /// Goes on with one more breakpoint.
  Halt run_to(Breakpoint breakpoint) {
    debugger_.add_breakpoint(std::move(breakpoint));
    return debugger_.go_on();
  }
  std::string eval(const std::string& code) { return text_of(debugger_.evaluate(code)); }
  std::string set(const char* variable, const char* expression) {
    return text_of(debugger_.set(variable, expression));
  }
  std::string frames() {
    std::string text;
    for (const auto& frame : debugger_.backtrace()) {
      text += (text.empty() ? "" : ", ") + frame.name + ":" + std::to_string(frame.line);
    }
    return text;
  }

  rlctl::keyspace::Keyspace keys{std::chrono::seconds{1'700'000'000}};
  Texts messages = {};
  Halt halt = {};

 private:
  Debuggee debuggee_;
  std::int64_t polls_ = INT64_MAX;
  EngineDebugger debugger_;
};

constexpr const char* kLoop =
    "local count = 0\n"                // 1
    "local t = {a = {10, 20}}\n"       // 2
    "for i = 1, 5 do\n"                // 3
    "  count = count + i\n"            // 4
    "  redis.call('INCR', KEYS[1])\n"  // 5
    "end\n"                            // 6
    "\n"                               // 7
    "return count\n";                  // 8

constexpr const char* kFunctions =
    "local sum, t = 1, {a = {1, 2}}\n"        // 1
    "local function add(n)\n"                 // 2
    "  local before = sum\n"                  // 3
    "  sum = sum + n\n"                       // 4
    "  if n > 1 then add(n - 1) end\n"        // 5
    "  return before\n"                       // 6
    "end\n"                                   // 7
    "local function outer(x)\n"               // 8
    "  return add(x)\n"                       // 9
    "end\n"                                   // 10
    "local a = add(1) + add(2)\n"             // 11
    "a = a + outer(1)\n"                      // 12
    "local co = coroutine.wrap(function()\n"  // 13
    "  local inside = a\n"                    // 14
    "  coroutine.yield(inside)\n"             // 15
    "end)\n"                                  // 16
    "co()\n"                                  // 17
    "return {a, sum}\n";                      // 18

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("the debugger steps line by line and knows what each line did") {
  Bench bench(
      "local big = 1700000000123456\n"
      "local got = redis.call('SET', KEYS[1], ARGV[1])\n"
      "redis.debug('here', big)\n"
      "return big + 1");
  CHECK(bench.halt.why == Why::kStarted);
  CHECK(bench.halt.line == 1);
  CHECK(bench->variables().empty());
  auto halt = bench->step();
  CHECK(halt.why == Why::kStepped);
  CHECK(halt.line == 2);
  CHECK(text_of(halt.changed) == "big=1700000000123456");
  halt = bench->step();
  REQUIRE(halt.calls.size() == 1);
  CHECK(halt.calls[0].words == Texts{"SET", "k", "3"});
  CHECK(halt.calls[0].reply == "\"+OK\"");
  CHECK(text_of(bench->variables()) == "big=1700000000123456 got={ok = \"OK\"}");
  halt = bench->step();
  REQUIRE(halt.messages.size() == 1);
  CHECK(halt.messages[0].text == "\"here\", 1700000000123456");
  CHECK(halt.changed.empty());
  halt = bench->step();
  CHECK(halt.why == Why::kEnded);
  CHECK_FALSE(bench->running());
  CHECK(bench->result().ending == Ending::kReturned);
  CHECK(bench->result().reply->integer() == 1700000000123457);
}

TEST_CASE("the debugger continues to the next breakpoint, or to the end if there is none") {
  Bench bench(kLoop);
  auto halt = bench.run_to({.line = 5});
  CHECK(halt.why == Why::kBreakpoint);
  CHECK(text_of(bench->variables()) == "count=1 t={a = {10, 20}} i=1");
  halt = bench->go_on();
  CHECK(text_of(halt.changed) == "count=3 i=2");
  REQUIRE(halt.calls.size() == 1);
  CHECK(halt.calls[0].reply == "1");
  CHECK(bench->remove_breakpoint(5));
  CHECK_FALSE(bench->remove_breakpoint(5));
  CHECK(bench->go_on().why == Why::kEnded);
  CHECK(bench->result().reply->integer() == 15);
  CHECK(bench->result().lines == 19);
}

TEST_CASE("a breakpoint where nothing stops is refused, and names the nearest lines") {
  Bench bench(kLoop);
  const auto refusal = [&](int line) {
    return refusal_of([&] { bench->add_breakpoint({.line = line}); });
  };
  CHECK(contains(refusal(7), "nothing stops at line 7: the nearest that do are 5 and 8"));
  CHECK(contains(refusal(99), "does is 8"));
  CHECK(contains(refusal(0), "does is 1"));
  CHECK(bench->breakpoints().empty());
}

TEST_CASE("conditions, hit counts and messages are evaluated where the breakpoint is") {
  Bench bench(kLoop);
  CHECK(bench.run_to({.line = 4, .condition = "i == 3 and t.a[2] == 20"}).why == Why::kBreakpoint);
  CHECK(bench.eval("i") == "3");
  const auto halt = bench.run_to({.line = 4, .condition = "t.b.c == 1"});
  CHECK(contains(halt.condition_error, "attempt to index field 'b'"));
  CHECK(contains(refusal_of([&] { bench->add_breakpoint({.line = 4, .condition = "i =="}); }),
                 "'i ==' is not an expression"));
  bench->clear_breakpoints();
  bench->start();
  CHECK(bench.run_to({.line = 4, .hit_condition = HitCondition("4")}).line == 4);
  CHECK(bench.eval("i") == "4");
  CHECK(bench.run_to({.line = 4, .message = LogMessage("{i} of {#t.a}")}).why == Why::kEnded);
  CHECK(bench.messages == Texts{"4 5 of 2"});
}

TEST_CASE("a watch halts when its value changes, and keeps it while a variable is not visible") {
  Bench bench(kLoop);
  CHECK(text_of(bench->add_watch("count").last) == "nil");
  Lines lines;
  Texts changes;
  for (int i = 0; i < 3; ++i) {
    const auto halt = bench->go_on();
    REQUIRE(halt.why == Why::kWatch);
    lines.push_back(halt.line);
    changes.push_back(text_of(halt.watches[0].before) + ">" + text_of(halt.watches[0].watch.last));
  }
  CHECK(lines == Lines{2, 5, 5});
  CHECK(changes == Texts{"nil>0", "0>1", "1>3"});
  CHECK(bench->remove_watch(1));
  CHECK_FALSE(bench->remove_watch(1));
  CHECK_THROWS_AS(static_cast<void>(bench->add_watch("count +")), UsageError);
  static_cast<void>(bench->add_watch("i"));
  bench->add_breakpoint({.line = 8});
  for (int i = 3; i <= 5; ++i) CHECK(bench->go_on().why == Why::kWatch);
  CHECK(bench->go_on().why == Why::kBreakpoint);
  CHECK(text_of(bench->watches()[0].last) == "5");
}

TEST_CASE("next passes over functions, also those called instead of returning, and coroutines") {
  Bench bench(kFunctions);
  Lines lines;
  for (auto halt = bench.halt; halt.why != Why::kEnded; halt = bench->next()) {
    lines.push_back(halt.line);
  }
  CHECK(lines == Lines{1, 7, 10, 11, 12, 13, 16, 13, 17, 18});
}

TEST_CASE("finish returns to a line of a caller, and from the main function to the end") {
  Bench bench(kFunctions);
  bench.run_to({.line = 4, .condition = "n == 1 and sum > 3"});
  bench->clear_breakpoints();
  CHECK(bench.frames() == "add:4, add:5, top level:11");
  auto halt = bench->finish();
  CHECK(halt.line == 6);
  CHECK(bench.frames() == "add:6, top level:11");
  CHECK(bench->finish().line == 12);
  CHECK(bench->finish().why == Why::kEnded);
}

TEST_CASE("the variables of every active function are shown, across coroutines, and evaluated") {
  Bench bench(kFunctions);
  bench.run_to({.line = 4, .condition = "n == 1 and sum > 3"});
  CHECK(text_of(bench->variables()) == "n=1 before=4 sum^=4 add^=function");
  bench->select_frame(1);
  CHECK(bench.eval("n, before") == "2 2");
  bench->select_frame(2);
  CHECK(text_of(bench->variables()) == "sum=4 t={a = {1, 2}} add=function outer=function");
  CHECK_THROWS_AS(bench->select_frame(3), UsageError);
  bench->clear_breakpoints();
  bench.run_to({.line = 15});
  CHECK(bench.frames() == "function of line 13:15, top level:17");
  CHECK(text_of(bench->variables()) == "inside=8 a^=8");
  bench->select_frame(1);
  CHECK(contains(text_of(bench->variables()), "a=8"));
}

TEST_CASE("code sees and sets variables, calls the script's functions, and is bounded") {
  Bench bench(kFunctions);
  bench.run_to({.line = 12});
  CHECK(bench.eval("a, t.a[2], sum") == "3 2 5");
  CHECK(bench.eval("add(5)") == "5");
  CHECK(bench.eval("sum") == "20");
  CHECK(bench.eval("a = a + 0.5") == "");
  CHECK(bench.eval("a") == "3.5");
  CHECK(bench.eval("local x = 1; return x, a") == "1 3.5");
  CHECK(bench.eval("redis.call('INCR', KEYS[1])") == "1");
  CHECK(bench.eval("nowhere") ==
        "! Script attempted to access nonexistent global variable 'nowhere'");
  CHECK(bench.eval("nil + 1") == "! attempt to perform arithmetic on a nil value");
  CHECK(contains(bench.eval("1 +"), "! unexpected symbol"));
  CHECK(contains(bench.eval("while true do end"), "! it ran for more than"));
  CHECK(contains(bench.eval("x = 1"), "! Attempt to modify a readonly table"));
  // A function that code leaves behind does not see the variables of a function that has ended.
  CHECK(bench.eval("t.f = function() return a end") == "");
  bench->go_on();
  CHECK(bench->result().ending == Ending::kReturned);
  bench.stop_after(5);
  bench->start();
  CHECK(bench->go_on().why == Why::kStopped);
}

TEST_CASE("locals, upvalues, loop variables, fields and KEYS are set, and the script goes on") {
  Bench bench(
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
      "return seen .. sum .. t.a[2] .. t['b c'] .. KEYS[1] .. ARGV[2]");
  bench.run_to({.line = 4});
  CHECK(bench.set("n", "n + sum + 8") == "10");
  CHECK(bench.set("sum", "100") == "100");
  CHECK(bench.set("before", "nil") == "nil");
  CHECK(bench.set("before", "'b'") == "\"b\"");
  CHECK(text_of(bench->step().changed) == "sum^=110");
  bench->clear_breakpoints();
  bench.run_to({.line = 9});
  CHECK(bench.set("t.a[2]", "{deep = 1}") == "{deep = 1}");
  CHECK(bench.set("t.a[2]", "t.a[2].deep + 0.5") == "1.5");
  CHECK(bench.set("t[\"b c\"]", "'\\0\\255'") == "\"\\000\\255\"");
  CHECK(bench.set("KEYS[1]", "KEYS[1] .. '!'") == "\"k!\"");
  CHECK(bench.set("ARGV[2]", "seen") == "\"b,\"");
  bench->clear_breakpoints();
  bench->go_on();
  CHECK(bench->result().reply->text() ==
        std::string("b,110,1121.5") + std::string("\0\377", 2) + "k!b,");
}

TEST_CASE("setting is refused for what is no variable, and says why") {
  Bench bench(kLoop);
  bench->step();
  CHECK(contains(bench.set("late", "1"), "! no variable 'late' is visible here"));
  CHECK(contains(bench.set("t.a.b", "1"), "!"));
  CHECK(contains(bench.set("redis.call", "1"), "! Attempt to modify a readonly table"));
  CHECK(contains(bench.set("count", "nil + 1"), "!"));
  for (const auto* expression : {"1 +", "", "1, 2", "1) x = (2"}) {
    CHECK_THROWS_AS(bench->set("count", expression), UsageError);
  }
  CHECK_THROWS_AS(bench->set("count + 1", "1"), UsageError);
}

TEST_CASE("a script halts at an error that nothing catches, with its frames and variables") {
  Bench bench(
      "local function fail(n)\n"
      "  return n.x\n"
      "end\n"
      "pcall(fail)\n"
      "local r = redis.pcall('SORT', 'k')\n",
      true);
  CHECK(bench->go_on().why == Why::kEnded);
  CHECK(bench->result().ending == Ending::kNotImplemented);
  CHECK(bench->result().error_line == 5);
  Bench other("local function fail(n)\n  return n.x\nend\nreturn 1 + fail(ARGV.none)", true);
  const auto halt = other->go_on();
  CHECK(halt.why == Why::kError);
  CHECK(halt.error == "attempt to index local 'n' (a nil value)");
  CHECK(other.frames() == "fail:2, top level:4");
  CHECK(other.eval("n == nil") == "true");
  CHECK(other->step().why == Why::kEnded);
  CHECK(other->result().ending == Ending::kRunTimeError);
  CHECK(other->result().error_line == 2);
}

TEST_CASE("endless recursion is Lua's error, even where the debugger finds no room on the stack") {
  const std::string recursion = "local function f(n)\n  return f(n + 1) + 1\nend\n";
  const Debuggee traced{.name = "test.lua", .source = recursion + "return f(1)"};
  rlctl::keyspace::Keyspace keys{std::chrono::seconds{1}};
  const auto result = trace(traced, keys, nullptr, 100'000, [](const TracedLine&) {});
  CHECK(result.ending == Ending::kRunTimeError);
  CHECK(result.message == "stack overflow");
  CHECK(result.error_line == 2);

  Bench bench(recursion + "return f(1)", true);
  const auto halt = bench.run_to({.line = 2, .condition = "n < 0"});
  CHECK(halt.why == Why::kError);
  CHECK(halt.error == "stack overflow");
  CHECK(bench->variables().front().name == "n");
  CHECK(bench->step().why == Why::kEnded);
  CHECK(bench->result().ending == Ending::kRunTimeError);

  Bench catching(recursion + "return pcall(f, 1) and 1 or 2");
  CHECK(catching.run_to({.line = 2, .condition = "n < 0"}).why == Why::kEnded);
  CHECK(catching->result().ending == Ending::kReturned);
  CHECK(catching->result().reply->integer() == 2);
}

TEST_CASE("a reply that is not read ends a run as what the debugger does not have") {
  const Debuggee deep{.name = "test.lua", .source = "return {{{{{{{{1}}}}}}}}"};
  rlctl::keyspace::Keyspace keys{std::chrono::seconds{1}};
  const auto result = count_lines(deep, keys, nullptr, 10);
  CHECK(result.ending == Ending::kNotImplemented);
  CHECK(result.message == "rlctl does not read its reply, which has more than 7 levels of arrays");
  CHECK(result.error_line == 1);
}

TEST_CASE("redis.breakpoint() halts at the next line, and abort ends what catches errors") {
  Bench bench(
      "if redis.breakpoint() then redis.call('SET', KEYS[1], 1) end\n"
      "local ok = pcall(function()\n"
      "  redis.call('INCR', KEYS[1])\n"
      "end)\n"
      "return ok");
  CHECK(bench->go_on().why == Why::kCalledFor);
  CHECK(bench->line() == 2);
  bench.run_to({.line = 3});
  CHECK(bench->abort_script().why == Why::kEnded);
  CHECK(bench->result().ending == Ending::kAborted);
  CHECK(bench->call({"GET", "k"}).reply == "\"1\"");
  CHECK_THROWS_AS(bench->call({"SORT", "k"}), UsageError);
}

TEST_CASE("a loop without an end, even on one line, is stopped") {
  Bench bench("local n = 0\nwhile true do n = n + 1 end");
  bench.stop_after(1000);
  CHECK(bench->go_on().why == Why::kStopped);
  CHECK(bench.eval("n > 100") == "true");
}

TEST_CASE("paths and assignments are told from other code") {
  for (const auto* path : {"a", "t.a[2]", "t['b c'][i].x", "t[-1]"}) CHECK(is_path(path));
  for (const auto* other : {"", "a + 1", "f()", "t[f()]", "1", "a = 1", "t[{}]"}) {
    CAPTURE(other);
    CHECK_FALSE(is_path(other));
  }
  const auto assignment = parse_assignment("t.a[2] = 1 + 2");
  REQUIRE(assignment);
  CHECK(assignment->variable == "t.a[2] ");
  CHECK(assignment->expression == " 1 + 2");
  CHECK(assignment->has_sign);
}

}  // namespace debugger_debugger_test
