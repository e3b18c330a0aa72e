// needs: server
#include "ldb/probes.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/debugged.h"

namespace ldb_probe_reader_test {

namespace {

using namespace rlctl::ldb;
using namespace rlctl::test;
using Strings = std::vector<std::string>;

/// The value of the first local at the end of the script.
Value last_value_of(std::string_view source) {
  const auto script = probed(source);
  const auto told = debug(script);
  REQUIRE_MESSAGE(!told.readings.empty(), told.reply);
  REQUIRE(!told.readings.back().variables.empty());
  return told.readings.back().variables.front().value;
}

}  // namespace

// --- values

TEST_CASE("before each line, a probe reports the names that are visible and their exact values") {
  struct Case {
    const char *what, *source;
    Strings told;
  };
  const Case cases[] = {
      {"a probe reports each name's exact value before its line",
       "local a = 1700000000123456\n"
       "local b, c = 0.1 + 0.2, 'x \"y\",\\\\\\n'\n"
       "local a = {1, 2, n = {}}\n"
       "return a\n",
       {"1:", "2: a=1700000000123456",
        R"(3: a=1700000000123456 b=0.30000000000000004 c="x \"y\",\\\n")",
        R"(4: b=0.30000000000000004 c="x \"y\",\\\n" a={1, 2, n = {}})"}},
      {"only a statement that begins its line gets a probe",
       "local a = 1 local b = 2\n"
       "if a then b = 3\n"
       "b = 4 end\n"
       "\n"
       "return\n"
       "b\n",
       {"1:", "2: a=1 b=2", "3: a=1 b=3", "5: a=1 b=4"}},
      {"activations of a function are distinguished",
       "local function f(n)\n"
       "  if n == 0 then return 0 end\n"
       "  local r = f(n - 1)\n"
       "  return n + r\n"
       "end\n"
       "return f(2)\n",
       {"1:", "6: f=function", "2: f=function n#1=2", "3: f=function n#1=2", "2: f=function n#2=1",
        "3: f=function n#2=1", "2: f=function n#3=0", "4: f=function n#2=1 r#2=0",
        "4: f=function n#1=2 r#1=1"}},
      {"an outer local is reported with its own function's activation, in functions that refer to "
       "it",
       "local other = 0\n"
       "local function counter(from)\n"
       "  local unused\n"
       "  return function()\n"
       "    from = from + 1\n"
       "    return from\n"
       "  end\n"
       "end\n"
       "local a, b = counter(5), counter(10)\n"
       "return a() + b()\n",
       {"1:", "2: other=0", "9: other=0 counter=function", "3: from#1=5",
        "4: from#1=5 unused#1=nil", "3: from#2=10", "4: from#2=10 unused#2=nil",
        "10: other=0 counter=function a=function b=function", "5: from#1=5", "6: from#1=6",
        "5: from#2=10", "6: from#2=11"}},
      {"interleaved coroutines are distinguished",
       "local function f(x)\n"
       "  coroutine.yield()\n"
       "  x = x + 1\n"
       "  return x\n"
       "end\n"
       "local a, b = coroutine.wrap(f), coroutine.wrap(f)\n"
       "a(1) b(5) a() return b()",
       {"1:", "6: f=function", "7: f=function a=function b=function", "2: x#1=1", "2: x#2=5",
        "3: x#1=1", "4: x#1=2", "3: x#2=5", "4: x#2=6"}},
      {"a name that a function declares itself hides the outer one",
       "local x, y = 1, 2\n"
       "local function f()\n"
       "  y = x\n"
       "  local x = 5\n"
       "  return x\n"
       "end\n"
       "return f()",
       {"1:", "2: x=1 y=2", "7: x=1 y=2 f=function", "3: x=1 y=2", "4: x=1 y=1", "5: y=1 x#1=5"}},
      {"arg is not reported, and it hides an outer arg",
       "local arg = 1\n"
       "local function f(...)\n"
       "  local a = arg\n"
       "  return a\n"
       "end\n"
       "return f(2)\n",
       {"1:", "2: arg=1", "6: arg=1 f=function", "3:", "4: a#1={2, n = 1}"}},
      {"NaN, infinities and negative zero are reported as they are",
       "local a = 0\n"
       "a = -a\n"
       "a = 0\n"
       "a = 1/0\n"
       "a = -a\n"
       "a = a - a\n"
       "a = -a\n"
       "a = 5e-324\n"
       "a = nil\n"
       "a = false\n"
       "a = '0'\n"
       "a = ''\n"
       "return a",
       {"1:", "2: a=0", "3: a=-0", "4: a=0", "5: a=inf", "6: a=-inf", "7: a=nan", "8: a=nan",
        "9: a=5e-324", "10: a=nil", "11: a=false", "12: a=\"0\"", "13: a=\"\""}},
      {"a table is reported again when anything in it has changed",
       "local t = {}\n"
       "t[1] = {x = 'a'}\n"
       "t[1].x = nil\n"
       "t[1][true] = 1\n"
       "t = '{{t=d1;};}'\n"
       "t = {'{'}\n"
       "return 1",
       {"1:", "2: t={}", "3: t={{x = \"a\"}}", "4: t={{}}", "5: t={{[true] = 1}}",
        "6: t=\"{{t=d1;};}\"", "7: t={\"{\"}"}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.what);
    CHECK(told_of(each.source) == each.told);
  }
}

TEST_CASE("strings are reported whole, with any bytes and up to a megabyte") {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const auto script = probed("local a = ARGV[1]\nreturn #a");
  const auto bytes = debug(script, {}, {all});
  CHECK(bytes.readings.back().variables[0].value.text == all);
  std::string megabyte;
  while (megabyte.size() < 1'000'000) megabyte += all;
  const auto told = debug(script, {}, {megabyte});
  CHECK(told.readings.back().variables[0].value.text == megabyte);
  CHECK(told.reply == std::to_string(megabyte.size()));
}

TEST_CASE("reporting a recursive table or a very deep one terminates") {
  CHECK(told_of("local t = {}\nt.a = {t}\nreturn 1").back() == "3: t={a = {{...}}}");
  CHECK(told_of("local t = {1}\nlocal u = {t, t}\nreturn 1").back() == "3: t={1} u={{1}, {1}}");
  auto value = last_value_of("local t = {}\nfor i = 1, 5000 do t = {t} end\nreturn 1");
  int depth = 0;
  while (value.kind == Value::Kind::kTable) {
    REQUIRE(value.fields.size() == 1);
    auto inner = std::move(value.fields[0].second);
    value = std::move(inner);
    ++depth;
  }
  CHECK(depth == 100);
  CHECK(value.kind == Value::Kind::kCycle);
}

TEST_CASE("only the first fields of a very large table are reported, and the cut is marked") {
  const auto whole = last_value_of("local t = {}\nfor i = 1, 1000 do t[i] = i end\nreturn 1");
  CHECK(whole.fields.size() == 1000);
  CHECK_FALSE(whole.is_cut);
  const auto cut = last_value_of("local t = {}\nfor i = 1, 5000 do t[i] = i end\nreturn 1");
  CHECK(cut.fields.size() == 1000);
  CHECK(cut.is_cut);
  const auto long_ones =
      last_value_of("local t = {}\nfor i = 1, 100 do t[i] = string.rep('x', 100000) end\nreturn 1");
  CHECK(long_ones.is_cut);
  CHECK(long_ones.fields.size() == 11);
}

TEST_CASE("values without visible contents are reported by their type") {
  CHECK(told_of("local f = function() end\nlocal c = coroutine.create(f)\nreturn 1").back() ==
        "3: f=function c=thread");
}

TEST_CASE("no metamethod runs") {
  const std::string source =
      "local function no() error('ran') end\n"
      "local t = setmetatable({1, a = 2}, {__index = no, __newindex = no, __call = no,\n"
      "  __tostring = no, __eq = no, __lt = no, __len = no, __pairs = no, __concat = no,\n"
      "  __metatable = false, __mode = 'k', __unm = no})\n"
      "local u = setmetatable({t, [t] = 1}, getmetatable(t) or {})\n"
      "return #t\n";
  CHECK(told_of(source).back() == "6: no=function t={1, a = 2} u={{1, a = 2}, [{1, a = 2}] = 1}");
  CHECK(same_reply(source) == "1");
}

TEST_CASE("more values than fit in one call are reported together") {
  for (const int count : {28, 29, 30, 31, 59, 60, 61, 150, 197}) {
    CAPTURE(count);
    const auto source =
        "local function f()\n" + locals(count) + "v1 = 'x'\nreturn v1 end\nreturn f()";
    const auto script = probed(source);
    const auto told = debug(script);
    REQUIRE(told.reply == "'x'");
    const auto& variables = told.readings.back().variables;
    REQUIRE(variables.size() == static_cast<std::size_t>(count));
    CHECK(text_of(variables[0].value) == "\"x\"");
    for (std::size_t i = 1; i < variables.size(); ++i) {
      CHECK(script.locals[variables[i].local].name == local_name(static_cast<int>(i) + 1));
      CHECK(variables[i].activation == 1);
      CHECK(variables[i].value.number == 1);
    }
  }
}

TEST_CASE("messages from the script itself are not mistaken for a probe's") {
  const auto script = probed("local a = 1\nreturn a");
  ProbeReader of_script(script);
  const Strings probes{"~rl:P",        "~rl:P0",       "~rl:P9",
                       "~rl:P1;",      "~rl:P2;0=d1",  "~rl:P2;31=d1",
                       "~rl:P2;1=",    "~rl:P2;1=x",   "~rl:P2;1=d",
                       "~rl:P2;1=d1x", "~rl:P2;1=s%4", "~rl:P2;1=s%zz",
                       "~rl:P2;1={",   "~rl:P2;1={d1", "~rl:P2;1={d1;}x",
                       "~rl:P2:",      "~rl:P2;1=d1 ", "~rl:P99999999999999999999"};
  const Strings others{"",      "\"",       "\"\"",        "~rl:",     "\"~rl:\"", "~rl:X",
                       "~rl:C", "~rl:CGET", "~rl:C;a=b=c", "~rl:C;%1", "5, \"a\""};
  for (const auto& texts : {probes, others}) {
    for (const auto& text : texts) {
      CAPTURE(text);
      CHECK(of_script.read(text).kind == ProbeReader::Line::Kind::kMessage);
    }
  }
  CHECK(of_script.read("~rl:P2;1=" + std::string(100'000, '{')).kind ==
        ProbeReader::Line::Kind::kMessage);
}

TEST_CASE("an activation with a number that no script counts to is none") {
  const auto script = probed("local function f(n)\n  return n\nend\nreturn f(1)\n");
  for (const std::string number : {"1e300", "-1", "nan", "inf", "9.3e18", "3"}) {
    CAPTURE(number);
    ProbeReader reader(script);
    const auto line = reader.read("~rl:P2;1=d" + number + ";2=d5");
    REQUIRE(line.kind == ProbeReader::Line::Kind::kProbe);
    REQUIRE(line.reading.variables.size() == 1);
    CHECK(line.reading.variables[0].activation == (number == "3" ? 3 : 0));
  }
}

// --- calls

TEST_CASE("calls are reported with all their words, however many and whatever their bytes") {
  const auto source = "redis.call('RPUSH', KEYS[1], 'a b', '\"', '\\0\\255', '', 'x;y=z', 1, -2, " +
                      repeated(
                          20, [](int i) { return std::to_string(i); }, ", ") +
                      ")\n"
                      "local pcall = redis.pcall\n"
                      "pcall('get', KEYS[1])\n"
                      "return 1";
  const auto told = debug(probed(source), {"k:1"});
  REQUIRE(told.calls.size() == 2);
  Strings words{"RPUSH", "k:1", "a b", "\"", std::string("\0\xff", 2), "", "x;y=z", "1", "-2"};
  for (int i = 1; i <= 20; ++i) words.push_back(std::to_string(i));
  CHECK(told.calls[0].words == words);
  CHECK(told.calls[1].words == Strings{"get", "k:1"});
  CHECK_FALSE(told.calls[1].answer.has_value());
}

TEST_CASE("numbers in a call are reported as the server writes them") {
  const Strings small{"0.1",    "0.1 + 0.2", "1.5e-22", "1e-7", "1.25e-7", "1e-5", "1.5e-6",
                      "0.0001", "-0.0 * 1",  "5e-324",  "1/3",  "2/3e10",  "0/0"};
  const Strings large{"1e17",      "-1e18", "2^63", "-2^63", "1e19", "1e21",  "1.5e22",
                      "1e300",     "1/0",   "-1/0", "2^53",  "100",  "-12.5", "123456789012345.6",
                      "1e15 + 0.5"};
  const Strings long_ones{"1.7976931348623157e308", "1.234567890123e19", "-1.2345678901234e20"};
  for (const auto& numbers : {small, large, long_ones}) {
    for (const auto& number : numbers) {
      CAPTURE(number);
      const auto told = debug(probed("return redis.call('ECHO', " + number + ")"));
      REQUIRE(told.calls.size() == 1);
      CHECK("'" + told.calls[0].words[1] + "'" == told.reply);
    }
  }
}

TEST_CASE("numbers are written as servers since 7.2 write them, whatever the server's version") {
  const auto script = probed("return 1");
  ProbeReader reader(script);
  const std::vector<std::pair<std::string, std::string>> numbers{
      {"0.10000000000000001", "0.1"},
      {"0.30000000000000004", "0.30000000000000004"},
      {"1.0000000000000001e-05", "0.00001"},
      {"9.9999999999999995e-08", "1e-7"},
      {"-12.5", "-12.5"},
      {"123456789012345.59", "123456789012345.6"},
      {"9.2233720368547758e%2B18", "9223372036854776000"},
      {"1.234567890123e%2B19", "12345678901230000000"},
      {"1e%2B19", "1e+19"},
      {"-1.5e%2B22", "-1.5e+22"},
      {"4.9406564584124654e-324", "5e-324"}};
  for (const auto& number : numbers) {
    CAPTURE(number.first);
    CHECK(reader.read("~rl:C;ECHO;#" + number.first).words == Strings{"ECHO", number.second});
  }
}

TEST_CASE("a call that is not a valid command is not reported, and is refused as usual") {
  for (const auto* call :
       {"redis.call()", "redis.call('SET', 'k', nil)", "redis.call('SET', {}, 'v')",
        "redis.call('SET', 'k', true)", "redis.pcall(nil)"}) {
    CAPTURE(call);
    const auto source = "return " + std::string(call);
    const auto told = debug(probed(source));
    CHECK(told.calls.empty());
    CHECK(told.reply == reply_to(source));
    CHECK(told.reply.starts_with("-"));
  }
}

}  // namespace ldb_probe_reader_test
