// needs: server
#include "ldb/probes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lua/lexer.h"
#include "support/debugged.h"

namespace ldb_probes_test {

namespace {

using namespace rlctl::ldb;
using namespace rlctl::test;
using Strings = std::vector<std::string>;

constexpr std::chrono::microseconds kNow{1'700'000'000'123'456};

/// The lines of the text that contain nothing of the source.
std::vector<int> our_lines(const ProbedScript& script) {
  std::vector<int> lines;
  for (std::size_t i = 1; i < script.lines.size(); ++i) {
    if (script.lines[i] == 0) lines.push_back(static_cast<int>(i));
  }
  return lines;
}

/// The lines that contain only a declaration such as "local a".
std::vector<int> bare_declarations_of(const std::string& source) {
  std::istringstream lines(source);
  std::vector<int> found;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto begin = std::min(line.find_first_not_of(' '), line.size());
    const bool is_bare = line.compare(begin, 6, "local ") == 0;
    if (is_bare && line.find_first_of("=()") == line.npos) found.push_back(number);
  }
  return found;
}

std::vector<int> without(std::vector<int> lines, const std::vector<int>& left_out) {
  std::erase_if(lines, [&](int line) {
    return std::find(left_out.begin(), left_out.end(), line) != left_out.end();
  });
  return lines;
}

}  // namespace

// --- the generated text

TEST_CASE("the lines of the text map back to the source's lines") {
  const auto script = probed("-- c\n\nlocal a = 1\n  return a -- d\n");
  CHECK(our_lines(script) == std::vector{1, 4, 6, 8});
  CHECK(script.lines == std::vector{0, 0, 1, 2, 0, 3, 0, 4, 0});
  CHECK(script.line_of(5) == 3);
  CHECK(script.line_of(0) == 0);
  CHECK(script.line_of(-1) == 0);
  CHECK(script.line_of(9) == 0);
  CHECK(script.text.ends_with(
      "\n  if __rl[2]then __rl[2](2,false,a)end\nreturn __rl.returned(a) -- d\n"));
}

TEST_CASE("without probes the lines stay where they were") {
  const std::string source = "local a =\n1\n\nreturn a + {}\n";
  const auto script = probed(source, {.probes = false, .now = kNow});
  CHECK(script.lines == std::vector{0, 1, 2, 3, 4, 0});
  CHECK(script.text.ends_with(source));
  const auto wrapped = probed(source, {.wrapped = true, .probes = false, .now = kNow});
  CHECK(wrapped.lines == std::vector{0, 1, 2, 3, 4, 0, 0});
  CHECK(probed(source, {.probes = false}).text == source);
}

TEST_CASE("a source with any kind of line end runs and is reported") {
  for (const std::string end : {"\n", "\r", "\r\n", "\n\r"}) {
    for (const std::string head : {"", "-- c", "--[[ c", "--[==["}) {
      auto source = head + end + (head.starts_with("--[") ? end + "]" + head.substr(3) : "");
      if (head == "--[[ c") source = head + end + end + "]]";
      if (head == "--[==[") source = head + end + end + "]==]";
      source += "local a = [[" + end + "x]]" + end + "local b = 'y\\" + end + "z'" + end +
                "  return a .. b" + end;
      CAPTURE(source);
      CHECK(same_reply(source) == "'xy\nz'");
      const auto script = probed(source);
      const auto told = debug(script);
      CHECK(told.stops == debug(rlctl::test::unprobed(source)).stops);
      CHECK(lines_of(script, told).back().ends_with(R"(a="x" b="y\nz")"));
    }
  }
}

TEST_CASE("an empty source or one of comments only has no probes, and runs") {
  for (const std::string source :
       {"", "\n", "\r", "\r\n\r\n", "-- c", "--[[\n]]", "  ", " -- c\n"}) {
    CAPTURE(source);
    CHECK(probed(source).probes.empty());
    CHECK(reply_to(probed(source).text) == "nil");
    CHECK(reply_to(probed(source, {.wrapped = true}).text) == "nil");
    const auto lines = probed(source).lines;
    const auto last = *std::max_element(lines.begin(), lines.end());
    CHECK(last == static_cast<int>(rlctl::lua::source_lines(source).size()));
  }
}

TEST_CASE("a #! line stays the first line") {
  const std::string source = "#!lua flags=no-writes\nlocal a = 1\nreturn a\n";
  const auto script = probed(source);
  CHECK(script.text.starts_with("#!lua flags=no-writes\nlocal redis"));
  CHECK(script.lines == std::vector{0, 1, 0, 0, 2, 0, 3, 0});
  CHECK(probed(source, {.probes = false, .now = kNow}).lines == std::vector{0, 1, 2, 3, 0});
  CHECK_FALSE(add_probes("#!lua").has_value());
  if (reply_to("#!lua\nreturn 1") != "1") return;  // before 7.0
  CHECK(same_reply(source) == "1");
  CHECK(same_reply("#!lua\r\n\r\nreturn 1") == "1");
  CHECK(debug(script).stops == debug(rlctl::test::unprobed(source)).stops);
}

TEST_CASE("generated names do not clash with names in the source") {
  CHECK(same_reply("local __rl, __rl1, __rl_ = 1, 2, 3\n"
                   "local function f(__rl2)\n"
                   "  return __rl + __rl1 + __rl_ + __rl2\n"
                   "end\n"
                   "return f(4)\n") == "10");
  CHECK(told_of("local __rl = 1\nlocal t = {__rl_ = 2}\nreturn t.__rl_").back() ==
        "3: __rl=1 t={__rl_ = 2}");
}

TEST_CASE("text that is not valid Lua gets no probes") {
  for (const auto* source : {"return +", "x = = 1", "local function end", "goto a", "f\n(g)()"}) {
    CHECK_FALSE(add_probes(source).has_value());
    CHECK_FALSE(add_probes(source, {.probes = false, .now = kNow}).has_value());
  }
}

// --- limits

TEST_CASE("a script with 200 locals runs when it is wrapped") {
  const auto source = locals(199) + "local last = v1\nlast = last + 1\nreturn last\n";
  CHECK(reply_to(source) == "2");
  CHECK(reply_to(probed(source).text).find("more than 200 local variables") != std::string::npos);
  const auto script = probed(source, {.wrapped = true});
  CHECK(reply_to(script.text) == "2");
  const auto told = debug(script);
  CHECK(told.reply == "2");
  CHECK(told.readings.back().variables.size() == 200);
  CHECK(lines_of(script, told).back().ends_with(" last=2"));
  // With two fewer it runs without wrapping.
  CHECK(same_reply(locals(198) + "return v198") == "1");
}

TEST_CASE("a function with 200 locals has probes that do not know its activation") {
  for (const int count : {198, 199, 200}) {
    CAPTURE(count);
    const auto source = "local function f()\n" + locals(count) + "return v1\nend\nreturn f()\n";
    CHECK(same_reply(source) == "1");
    const auto told = debug(probed(source));
    CHECK(told.readings.back().variables.size() == static_cast<std::size_t>(count));
    CHECK(told.readings.back().variables[0].activation == (count < 200 ? 1 : 0));
  }
}

TEST_CASE("a function with the maximum number of upvalues runs, without probes if necessary") {
  const auto of_upvalues = [](int count) {
    const auto names = repeated(count, local_name, " + ");
    return locals(count) + "local function f()\n  local x = " + names +
           "\n  return x\nend\nreturn f()\n";
  };
  for (const int count : {57, 58, 59, 60}) {
    CAPTURE(count);
    const auto source = of_upvalues(count);
    CHECK(same_reply(source) == std::to_string(count));
    const auto script = probed(source);
    const bool in_function = std::any_of(script.probes.begin(), script.probes.end(),
                                         [](const auto& probe) { return probe.function == 1; });
    CHECK(in_function == (count <= 59));
  }
  // And one whose upvalues belong to another function, whose activation adds one more.
  for (const int count : {57, 58, 59, 60}) {
    CAPTURE(count);
    const auto source = "local function g()\n" + of_upvalues(count) + "end\nreturn g()";
    CHECK(same_reply(source) == std::to_string(count));
  }
  // `redis` adds one more too, since it is no longer a global.
  const auto with_redis = [](int count) {
    return locals(count) + "local function f()\n  return " + repeated(count, local_name, " + ") +
           " + redis.call('INCR', 'k')\nend\nreturn f()\n";
  };
  for (const int count : {57, 58, 59}) {
    CAPTURE(count);
    CHECK(same_reply(with_redis(count)) == std::to_string(count + 1));
  }
  CHECK_FALSE(add_probes(with_redis(60)).has_value());
}

TEST_CASE("nested functions share the available upvalues") {
  // The upvalues of the inner functions are the outer ones' too.
  std::string source = locals(60);
  source += "local function f()\n  local a = 1\n";
  source += "  local function g()\n    local b = " + repeated(30, local_name, " + ") +
            "\n    return a + b\n  end\n";
  source += "  local function h()\n    local b = " +
            repeated(
                29, [](int i) { return local_name(i + 30); }, " + ") +
            "\n    return a + b\n  end\n";
  source += "  return g() + h()\nend\nreturn f()\n";
  CHECK(same_reply(source) == "61");
}

TEST_CASE("a wrapped script that takes varargs receives them") {
  if (reply_to("return select('#', ...)") != "0") return;  // before 7.0 there are none
  CHECK(same_reply("local a = ...\nreturn select('#', ...) .. tostring(a)") == "'0nil'");
  CHECK_FALSE(add_probes("return arg or ...", {.wrapped = true}).has_value());
  CHECK(add_probes("return arg or ...").has_value());
}

// --- the clock and the functions of redis

TEST_CASE("the clock is fixed at the given time, and its readings are reported") {
  const std::string source =
      "local a, b = redis.call('TIME'), redis.pcall('time')\n"
      "return {a[1], a[2], b[1], b[2], #a, type(a[1])}";
  const auto script = probed(source, {.now = kNow});
  const auto told = debug(script);
  CHECK(told.reply == "{'1700000000' '123456' '1700000000' '123456' 2 'string'}");
  REQUIRE(told.calls.size() == 2);
  CHECK(told.calls[0].words == Strings{"TIME"});
  CHECK(told.calls[0].answer == Strings{"1700000000", "123456"});
  CHECK(told.calls[1].words == Strings{"time"});
  CHECK(reply_to(probed(source, {.probes = false, .now = kNow}).text) == told.reply);
  CHECK(debug(probed(source, {.probes = false, .now = kNow})).calls.empty());
  CHECK(reply_to(probed("return redis.call('TIME')", {.now = std::chrono::microseconds(7)}).text) ==
        "{'0' '7'}");
  CHECK(reply_to(probed("return redis.call('TIME', 1)", {.now = kNow}).text).starts_with("-"));
}

TEST_CASE("without a given time the clock is the server's") {
  const auto told = debug(probed("local a = redis.call('TIME')\nreturn tonumber(a[1])"));
  CHECK(std::stoll(told.reply) > 1'700'000'000);
  REQUIRE(told.calls.size() == 1);
  CHECK_FALSE(told.calls[0].answer.has_value());
}

TEST_CASE("the other functions of redis work as usual") {
  CHECK(same_reply("return redis.sha1hex('a')") == "'86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'");
  CHECK(same_reply("return redis.error_reply('MINE x')").starts_with("-"));
  CHECK(same_reply("return redis.status_reply('FINE')") == "+FINE");
  CHECK(same_reply("redis.setresp(3) return redis.call('HGETALL', 'k')") == "{}");
  CHECK(same_reply("redis.log(redis.LOG_DEBUG, 'x') return redis.LOG_WARNING") == "3");
  CHECK(same_reply("redis.set_repl(redis.REPL_ALL) return 1") == "1");
  CHECK(same_reply("return redis.nothing") == "nil");
  CHECK(same_reply("local redis = redis return redis.call('ECHO', 'a')") == "'a'");
  CHECK(same_reply("local t = {r = redis} return t.r.call('ECHO', 'a')") == "'a'");
  CHECK(same_reply("return type(redis) .. type(redis.call) .. type(rawget(_G, 'redis'))") ==
        "'tablefunctiontable'");
}

TEST_CASE(
    "calls through Valkey's alias of redis are reported too, and it stays undefined where it was") {
  const std::string source =
      "local a = pcall(function() return server.call('TIME') end)\n"
      "if not a then return 'none' end\n"
      "server.call('SET', 'k', 'v')\n"
      "return server.call('TIME')";
  const auto is_there =
      reply_to("return pcall(function() return server.call end) and 1 or 0") == "1";
  for (const bool probes : {true, false}) {
    for (const bool wrapped : {true, false}) {
      const auto script = probed(source, {.wrapped = wrapped, .probes = probes, .now = kNow});
      const auto told = debug(script);
      CHECK(told.reply == (is_there ? "{'1700000000' '123456'}" : "'none'"));
      CHECK(told.calls.size() == (is_there && probes ? 3 : 0));
    }
  }
  CHECK(same_reply("local server = {call = tostring} return server.call('x')") == "'x'");
}

// --- nothing else changes

namespace {

/// Separated by lines of "====".
constexpr std::string_view kScripts = R"lua(local a = 1; local b = 2;
a = a + b;
return a
====
local t = {}
local f = function(x) t[#t + 1] = x end;
(f)(1);
(f)(2)
do end
(f)(3)
return t
====
local n, t = 0, {}
while true do
  n = n + 1
  if n > 3 then
    break
  end
end
repeat
  local m = n
  n = n + 1
until m > 6
for k, v in pairs({a = 1}) do
  t[1] = k
  t[2] = v
end
for i = 10, 1, -3 do
  n = n * 10 + i
end
return {n, t}
====
local fs = {}
for i = 1, 3 do
  fs[i] = function()
    i = i + 1
    return i
  end
end
return {fs[1](), fs[1](), fs[2](), fs[3]()}
====
local function f(...)
  local a, b = ...
  return select('#', ...), a, b
end
return {f(1, nil, 3)}
====
local function f(...)
  return arg.n
end
return f(1, 2)
====
local o = {n = 1}
function o:add(k)
  self.n = self.n + k
  return self
end
return o:add(2):add(3).n
====
local f
function f(n)
  if n == 0 then
    return 'x'
  end
  return f(n - 1)
end
return f(20)
====
local ok, e = pcall(function()
  error({err = 'MINE a'})
end)
return e
====
local ok, e = pcall(error, 'x')
return e
====
error('bad')
====
local a
return a.b
====
return redis.call('INCR', 'k', 'l')
====
redis.call('SET', 'k', 'a')
return redis.call('INCR', 'k')
====
return undefined_global
====
local x = string.gsub('abc', '%w', function(c)
  return c .. c
end)
local t = {3, 1, 2}
table.sort(t, function(a, b)
  return a > b
end)
return {x, t}
====
local co = coroutine.wrap(function(a)
  local b = coroutine.yield(a + 1)
  error('in ' .. b)
end)
local x = co(1)
local ok, e = pcall(co, 'y')
return {x, tostring(ok)}
====
return {1, 2,
  3, 'x' ..
  'y'}
====
return
====
do
  return 5
end
====
local a = 1
if a == 1 then
  return a
else
  return 2
end
====
local a <const> = 1
====
local s = [[
]]local t = 1
return s .. t
====
if false then
  return 1
end
====
local function f()
  local x = 1
end
f()

-- c
====
)lua";

Strings scripts_of_any_form() {
  constexpr std::string_view kEnd = "====\n";
  Strings scripts;
  for (auto rest = kScripts; !rest.empty();) {
    const auto end = rest.find(kEnd);
    scripts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + kEnd.size());
  }
  return scripts;
}

}  // namespace

TEST_CASE("a script of any form behaves the same with probes, and stops at the same lines") {
  for (const auto& source : scripts_of_any_form()) {
    CAPTURE(source);
    if (!add_probes(source)) {
      CHECK(reply_to(source).starts_with("-"));
      continue;
    }
    const auto reply = same_reply(source);
    const auto original = debug(rlctl::test::unprobed(source));
    CHECK(original.reply == reply);
    const auto told = debug(probed(source));
    CHECK(told.reply == reply);
    // Lua has no instruction for a declaration without a value, but after a probe it has one.
    CHECK(without(told.stops, bare_declarations_of(source)) ==
          without(original.stops, bare_declarations_of(source)));
  }
}

TEST_CASE("a script of 100 KB runs with probes") {
  std::string source = "local t = {}\n";
  for (int i = 0; source.size() < 100'000; ++i) {
    source +=
        "t[1] = " + std::to_string(i) + " -- and some more\nif t[1] < 0 then\n  return\nend\n";
  }
  source += "return t[1]\n";
  const auto reply = same_reply(source);
  CHECK(debug(probed(source)).reply == reply);
}

TEST_CASE("infinite recursion overflows the stack as usual") {
  const std::string source = "local function f(n)\n  return 1 + f(n + 1)\nend\nreturn f(1)";
  CHECK(reply_to(source).find("stack overflow") != std::string::npos);
  CHECK(reply_to(probed(source).text).find("stack overflow") != std::string::npos);
  const auto caught =
      "local n = 0\nlocal function f()\n  n = n + 1\n  return 1 + f()\nend\n"
      "local ok = pcall(f)\nreturn {tostring(ok), n > 1000 and 1 or 0}";
  CHECK(same_reply(caught) == "{'false' 1}");
}

TEST_CASE("the probes of a script that overwrites globals still report its values") {
  CHECK(told_of("local type, next, pcall, tostring = 1, 2, 3, 4\n"
                "local string, table, select, redis = 5, 6, 7, 8\n"
                "return redis")
            .back() == "3: type=1 next=2 pcall=3 tostring=4 string=5 table=6 select=7 redis=8");
}

}  // namespace ldb_probes_test
