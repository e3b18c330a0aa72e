#include "ldb/probes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/debugged.h"
#include "support/limiters.h"

namespace ldb_probes_test {

namespace {

using rlctl::ldb::add_probes;
using rlctl::ldb::ProbedScript;
using rlctl::ldb::ProbeOptions;
using rlctl::ldb::ProbeReader;
using rlctl::ldb::Value;
using rlctl::test::debug;
using rlctl::test::probed;
using rlctl::test::TestServer;
using rlctl::test::to_text;
using rlctl::test::Told;
using Strings = std::vector<std::string>;

constexpr std::chrono::microseconds kNow{1'700'000'000'123'456};

/// "3: a=1 b#2=5": the line, and the values reported before it; 2 is the activation.
Strings lines_of(const ProbedScript& script, const Told& told) {
  Strings lines;
  for (const auto& reading : told.readings) {
    auto line = std::to_string(script.probes[reading.probe].line) + ":";
    for (const auto& variable : reading.variables) {
      line += " " + script.locals[variable.local].name;
      if (variable.activation > 0) line += "#" + std::to_string(variable.activation);
      line += "=" + text_of(variable.value);
    }
    lines.push_back(line);
  }
  return lines;
}

Strings told_of(std::string_view source, const ProbeOptions& options = {}) {
  const auto script = probed(source, options);
  return lines_of(script, debug(script));
}

/// The value of the first local at the end of the script.
Value last_value_of(std::string_view source) {
  const auto script = probed(source);
  const auto told = debug(script);
  REQUIRE_MESSAGE(!told.readings.empty(), told.reply);
  REQUIRE(!told.readings.back().variables.empty());
  return told.readings.back().variables.front().value;
}

std::string run(TestServer& server, std::string_view text) {
  (void)server.call({"FLUSHALL"});
  return to_text(server.eval(text, {}, {}));
}

std::string run(std::string_view text) {
  TestServer server;
  return run(server, text);
}

/// The reply on an empty server, which must be the same with every kind of probe.
std::string same_reply(std::string_view source) {
  TestServer server;
  const auto reply = run(server, source);
  CAPTURE(source.substr(0, 500));
  for (const bool wrapped : {false, true}) {
    const ProbeOptions clock{.wrapped = wrapped, .probes = false, .now = kNow};
    CHECK(run(server, probed(source, {.wrapped = wrapped}).text) == reply);
    CHECK(run(server, probed(source, clock).text) == reply);
  }
  return reply;
}

/// The lines of the text that contain nothing of the source.
std::vector<int> our_lines(const ProbedScript& script) {
  std::vector<int> lines;
  for (std::size_t i = 1; i < script.lines.size(); ++i) {
    if (script.lines[i] == 0) lines.push_back(static_cast<int>(i));
  }
  return lines;
}

std::string repeated(int count, const auto& item, std::string_view separator = "") {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    if (i > 1) text += separator;
    text += item(i);
  }
  return text;
}

std::string local_name(int i) {
  return "v" + std::to_string(i);
}

std::string locals(int count) {
  return repeated(count, [](int i) { return "local v" + std::to_string(i) + " = 1\n"; });
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

// --- what is reported

TEST_CASE("a probe reports each name's exact value before its line") {
  CHECK(told_of("local a = 1700000000123456\n"
                "local b, c = 0.1 + 0.2, 'x \"y\",\\\\\\n'\n"
                "local a = {1, 2, n = {}}\n"
                "return a\n") ==
        Strings{"1:", "2: a=1700000000123456",
                R"(3: a=1700000000123456 b=0.30000000000000004 c="x \"y\",\\\n")",
                R"(4: b=0.30000000000000004 c="x \"y\",\\\n" a={1, 2, n = {}})"});
}

TEST_CASE("only a statement that begins its line gets a probe") {
  CHECK(told_of("local a = 1 local b = 2\n"
                "if a then b = 3\n"
                "b = 4 end\n"
                "\n"
                "return\n"
                "b\n") == Strings{"1:", "2: a=1 b=2", "3: a=1 b=3", "5: a=1 b=4"});
}

TEST_CASE("activations of a function are distinguished") {
  CHECK(told_of("local function f(n)\n"
                "  if n == 0 then return 0 end\n"
                "  local r = f(n - 1)\n"
                "  return n + r\n"
                "end\n"
                "return f(2)\n") ==
        Strings{"1:", "6: f=function", "2: f=function n#1=2", "3: f=function n#1=2",
                "2: f=function n#2=1", "3: f=function n#2=1", "2: f=function n#3=0",
                "4: f=function n#2=1 r#2=0", "4: f=function n#1=2 r#1=1"});
}

TEST_CASE(
    "an outer local is reported with its own function's activation, in functions that refer to "
    "it") {
  CHECK(told_of("local other = 0\n"
                "local function counter(from)\n"
                "  local unused\n"
                "  return function()\n"
                "    from = from + 1\n"
                "    return from\n"
                "  end\n"
                "end\n"
                "local a, b = counter(5), counter(10)\n"
                "return a() + b()\n") ==
        Strings{"1:", "2: other=0", "9: other=0 counter=function", "3: from#1=5",
                "4: from#1=5 unused#1=nil", "3: from#2=10", "4: from#2=10 unused#2=nil",
                "10: other=0 counter=function a=function b=function", "5: from#1=5", "6: from#1=6",
                "5: from#2=10", "6: from#2=11"});
}

TEST_CASE("interleaved coroutines are distinguished") {
  CHECK(told_of("local function f(x)\n"
                "  coroutine.yield()\n"
                "  x = x + 1\n"
                "  return x\n"
                "end\n"
                "local a, b = coroutine.wrap(f), coroutine.wrap(f)\n"
                "a(1) b(5) a() return b()") ==
        Strings{"1:", "6: f=function", "7: f=function a=function b=function", "2: x#1=1",
                "2: x#2=5", "3: x#1=1", "4: x#1=2", "3: x#2=5", "4: x#2=6"});
}

TEST_CASE("a name that a function declares itself hides the outer one") {
  CHECK(told_of("local x, y = 1, 2\n"
                "local function f()\n"
                "  y = x\n"
                "  local x = 5\n"
                "  return x\n"
                "end\n"
                "return f()") == Strings{"1:", "2: x=1 y=2", "7: x=1 y=2 f=function", "3: x=1 y=2",
                                         "4: x=1 y=1", "5: y=1 x#1=5"});
}

TEST_CASE("arg is not reported, and it hides an outer arg") {
  CHECK(told_of("local arg = 1\n"
                "local function f(...)\n"
                "  local a = arg\n"
                "  return a\n"
                "end\n"
                "return f(2)\n") ==
        Strings{"1:", "2: arg=1", "6: arg=1 f=function", "3:", "4: a#1={2, n = 1}"});
}

TEST_CASE("NaN, infinities and negative zero are reported as they are") {
  CHECK(told_of("local a = 0\n"
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
                "return a") == Strings{"1:", "2: a=0", "3: a=-0", "4: a=0", "5: a=inf", "6: a=-inf",
                                       "7: a=nan", "8: a=nan", "9: a=5e-324", "10: a=nil",
                                       "11: a=false", "12: a=\"0\"", "13: a=\"\""});
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

TEST_CASE("a table is reported again when anything in it has changed") {
  CHECK(told_of("local t = {}\n"
                "t[1] = {x = 'a'}\n"
                "t[1].x = nil\n"
                "t[1][true] = 1\n"
                "t = '{{t=d1;};}'\n"
                "t = {'{'}\n"
                "return 1") == Strings{"1:", "2: t={}", "3: t={{x = \"a\"}}", "4: t={{}}",
                                       "5: t={{[true] = 1}}", "6: t=\"{{t=d1;};}\"",
                                       "7: t={\"{\"}"});
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
  CHECK_FALSE(whole.approximate);
  const auto cut = last_value_of("local t = {}\nfor i = 1, 100000 do t[i] = i end\nreturn 1");
  CHECK(cut.fields.size() == 1000);
  CHECK(cut.is_cut);
  CHECK(cut.approximate);
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
  for (const auto* text : {"",
                           "\"",
                           "\"\"",
                           "~rl:",
                           "\"~rl:\"",
                           "~rl:X",
                           "~rl:P",
                           "~rl:P0",
                           "~rl:P9",
                           "~rl:P1;",
                           "~rl:P2;0=d1",
                           "~rl:P2;31=d1",
                           "~rl:P2;1=",
                           "~rl:P2;1=x",
                           "~rl:P2;1=d",
                           "~rl:P2;1=d1x",
                           "~rl:P2;1=s%4",
                           "~rl:P2;1=s%zz",
                           "~rl:P2;1={",
                           "~rl:P2;1={d1",
                           "~rl:P2;1={d1;}x",
                           "~rl:P2:",
                           "~rl:P2;1=d1 ",
                           "~rl:P99999999999999999999",
                           "~rl:C",
                           "~rl:CGET",
                           "~rl:C;a=b=c",
                           "~rl:C;%1",
                           "5, \"a\""}) {
    CAPTURE(text);
    const auto line = of_script.read(text);
    CHECK(line.kind == ProbeReader::Line::Kind::kScripts);
  }
  CHECK(of_script.read("~rl:P2;1=" + std::string(100'000, '{')).kind ==
        ProbeReader::Line::Kind::kScripts);
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
  const Strings numbers{"0.1",
                        "0.1 + 0.2",
                        "1e17",
                        "-1e18",
                        "2^63",
                        "-2^63",
                        "1e19",
                        "1e21",
                        "1.5e22",
                        "1.5e-22",
                        "1e300",
                        "1e-7",
                        "1.25e-7",
                        "1e-5",
                        "1.5e-6",
                        "0.0001",
                        "123456789012345.6",
                        "-0.0 * 1",
                        "1/0",
                        "-1/0",
                        "0/0",
                        "2^53",
                        "5e-324",
                        "1.7976931348623157e308",
                        "1.234567890123e19",
                        "-1.2345678901234e20",
                        "-12.5",
                        "100",
                        "1/3",
                        "2/3e10",
                        "1e15 + 0.5"};
  for (const auto& number : numbers) {
    CAPTURE(number);
    const auto told = debug(probed("return redis.call('ECHO', " + number + ")"));
    REQUIRE(told.calls.size() == 1);
    CHECK("'" + told.calls[0].words[1] + "'" == told.reply);
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
    CHECK(told.reply == run(source));
    CHECK(told.reply.starts_with("-"));
  }
}

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
  CHECK(run(probed(source, {.probes = false, .now = kNow}).text) == told.reply);
  CHECK(debug(probed(source, {.probes = false, .now = kNow})).calls.empty());
  CHECK(run(probed("return redis.call('TIME')", {.now = std::chrono::microseconds(7)}).text) ==
        "{'0' '7'}");
  CHECK(run(probed("return redis.call('TIME', 1)", {.now = kNow}).text).starts_with("-"));
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
  const auto is_there = run("return pcall(function() return server.call end) and 1 or 0") == "1";
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

// --- the generated text

TEST_CASE("the lines of the text map back to the source's lines") {
  const auto script = probed("-- c\n\nlocal a = 1\n  return a -- d\n");
  CHECK(our_lines(script) == std::vector{1, 4, 6, 8});
  CHECK(script.lines == std::vector{0, 0, 1, 2, 0, 3, 0, 4, 0});
  CHECK(script.line_of(5) == 3);
  CHECK(script.line_of(0) == 0);
  CHECK(script.line_of(-1) == 0);
  CHECK(script.line_of(9) == 0);
  CHECK(script.text.ends_with("\n  if __rl[2]then __rl[2](2,false,a)end\nreturn a -- d\n"));
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
    CHECK(run(probed(source).text) == "nil");
    CHECK(run(probed(source, {.wrapped = true}).text) == "nil");
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
  if (run("#!lua\nreturn 1") != "1") return;  // before 7.0
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
  CHECK(run(source) == "2");
  CHECK(run(probed(source).text).find("more than 200 local variables") != std::string::npos);
  const auto script = probed(source, {.wrapped = true});
  CHECK(run(script.text) == "2");
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
  if (run("return select('#', ...)") != "0") return;  // before 7.0 there are none
  CHECK(same_reply("local a = ...\nreturn select('#', ...) .. tostring(a)") == "'0nil'");
  CHECK_FALSE(add_probes("return arg or ...", {.wrapped = true}).has_value());
  CHECK(add_probes("return arg or ...").has_value());
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
local n = 0
while true do
  n = n + 1
  if n > 3 then
    break
  end
end
return n
====
local n = 0
repeat
  local m = n
  n = n + 1
until m > 3
return n
====
local t = {}
for k, v in pairs({a = 1}) do
  t[1] = k
  t[2] = v
end
return t
====
local n = 0
for i = 10, 1, -3 do
  n = n * 10 + i
end
return n
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
return x
====
local t = {3, 1, 2}
table.sort(t, function(a, b)
  return a > b
end)
return t
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
      CHECK(run(source).starts_with("-"));
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
  CHECK(run(source).find("stack overflow") != std::string::npos);
  CHECK(run(probed(source).text).find("stack overflow") != std::string::npos);
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
