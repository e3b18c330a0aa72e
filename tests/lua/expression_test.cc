#include "lua/expression.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "redis/reply.h"
#include "support/check_each.h"
#include "support/refusal.h"

namespace lua_expression_test {

using namespace rlctl;
using namespace rlctl::lua;
using namespace rlctl::test;

namespace {

std::optional<Expression::NotVariable> find(std::string_view name) {
  if (name == "limit" || name == "now_ms") return std::nullopt;
  return Expression::NotVariable{fmt::format("unknown name '{}'", name)};
}

/// A reply in RESP2.
redis::Reply reply_of(std::string_view resp) {
  redis::ReplyReader reader;
  reader.feed(resp);
  return *reader.next();
}

const std::array<double, 2> kValues{5, 1000};

std::string description(const ExpressionError& error) {
  return fmt::format("{}: {}", error.column, error.message);
}
/// "true", "false", or the column and the error.
std::string condition(const std::string& source, redis::ReplyView reply) {
  const Expression expression(source, find);
  try {
    return expression.holds(reply, std::span(kValues).first(expression.variables().size()))
               ? "true"
               : "false";
  } catch (const ExpressionError& error) {
    return description(error);
  }
}
/// The number, "nil", or the column and the error.
std::string number(const std::string& source, redis::ReplyView reply) {
  const Expression expression(source, find);
  try {
    const auto known =
        expression.number(reply, std::span(kValues).first(expression.variables().size()));
    return known ? fmt::to_string(*known) : "nil";
  } catch (const ExpressionError& error) {
    return description(error);
  }
}
std::string hint_of(const std::string& source, redis::ReplyView reply) {
  try {
    static_cast<void>(Expression(source, find).holds(reply, {}));
  } catch (const ExpressionError& error) {
    return error.hint;
  }
  return "no error";
}
std::string complaint(const std::string& source) {
  return refusal_of([&] { return Expression(source, find); });
}

/// {7, "2.5", {40, {50}}, "OK", nil, an error, "10", "9"}
constexpr std::string_view kArray =
    "*8\r\n:7\r\n$3\r\n2.5\r\n*2\r\n:40\r\n*1\r\n:50\r\n+OK\r\n$-1\r\n-LIMIT of 5\r\n$2\r\n10\r\n"
    "$1\r\n9\r\n";

}  // namespace

TEST_CASE("expression: r is the reply") {
  const auto reply = reply_of(kArray);
  check_each({{"r[1]", "7"},
              {"tonumber(r[2])", "2.5"},
              {"r[2] * 2", "5"},
              {"r[3][1]", "40"},
              {"r[3][2][1]", "50"},
              {" r [ 1 ] ", "7"},
              {"r[9]", "nil"},
              {"r[5]", "nil"},
              {"#r", "8"},
              {"#r[3] + #r[4]", "4"},
              {"r[9] or -1", "-1"},
              {"r[1] == 7 and 3 or 4", "3"},
              {"limit + r[1] * 10", "75"},
              {"tonumber(r[6].err:match('%d+'))", "5"},
              {"math.max(r[1], 9) - r[3][1]", "-31"}},
             [&](const auto& source) { return number(source, reply); });
  check_each({{"r[4] == 'OK'", "true"},
              {"r[9] == nil", "true"},
              {"r.err == nil", "true"},
              {"r[6].err == 'LIMIT of 5'", "true"},
              {"nil ~= r[1]", "true"},
              {"not (r[1] > 7)", "true"},
              {"not r[9]", "true"},
              {"not not (r[1] > 7)", "false"},
              {"r[1] > 6 and r[1] < 8", "true"},
              {"r[9] and r[9] > 1 or r[1] == 7", "true"},
              {"r[1] > 6 and (r[9] or 7) == r[1] and not r[9]", "true"},
              {"(r[1] and 7) == 7", "true"},
              {"(r[1] > 6) == true", "true"},
              {"- -r[1] >= 2 ^ -1 ^ 2", "true"},
              {"r[1] .. r[4] == '7OK'", "true"},
              {"'a' < 'b'", "true"},
              {"tonumber(r[7]) > tonumber(r[8])", "true"},
              {"('x'):rep(3) == 'xxx'", "true"},
              {"string.format('%d', r[1]) == \"7\"", "true"},
              {"r[1] == 9007199254740993 or 9007199254740992 == 9007199254740993", "true"}},
             [&](const auto& source) { return condition(source, reply); });
  CHECK(number("#r", reply_of("*0\r\n")) == "0");
  CHECK(number("#r", reply_of("*3\r\n:1\r\n$-1\r\n$-1\r\n")) == "1");
  CHECK(number("#r", reply_of("*3\r\n$-1\r\n$-1\r\n:1\r\n")) == "3");
  CHECK(condition("r == nil", reply_of("$-1\r\n")) == "true");
}

TEST_CASE("expression: what Lua takes for false, or compares silently, is an error") {
  const auto reply = reply_of(kArray);
  check_each({{"r[1] and r[1] > 8",
               "1: 7 (a number) before 'and' is true in Lua; compare it, as in r[1] == 1"},
              {"r[1] == 7 and r[2] and r[1] > 8",
               "15: '2.5' (a string) before 'and' is true in Lua; compare it, as in r[1] == 1"},
              {"true and r[2] and r[1] and r[1] == 7",
               "10: '2.5' (a string) before 'and' is true in Lua; compare it, as in r[1] == 1"},
              {"(r[1]) and not r[9]",
               "1: 7 (a number) before 'and' is true in Lua; compare it, as in r[1] == 1"},
              {"r[1] == '7'", "6: it compares 7 (a number) with '7' (a string)"},
              {"r[2] == 2.5", "6: it compares '2.5' (a string) with 2.5 (a number)"},
              {"1 ~= r[4]", "3: it compares 1 (a number) with 'OK' (a string)"},
              {"true == r[1]", "6: it compares true with 7 (a number)"},
              {"r[5] > 1", "6: it compares nil with 1 (a number)"},
              {"r[9] <= limit", "6: it compares nil with 5 (a number)"},
              {"r == r", "3: it compares a table with a table"},
              {"r[7] < r[8]", "6: it compares '10' (a string) with '9' (a string)"},
              {"1 > 2 or r[7] >= r[8]", "15: it compares '10' (a string) with '9' (a string)"},
              {"1 / 0 > 1", "7: it compares inf (a number) with 1 (a number)"},
              {"tonumber('nan') == 1", "17: it compares nan (a number) with 1 (a number)"},
              {"true < false", "6: it compares true with false"},
              {"not r[1]", "1: 'not' of 7 (a number) is false in Lua; compare it, as in r[1] == 0"},
              {"r[9] == nil and not r[2]",
               "17: 'not' of '2.5' (a string) is false in Lua; compare it, as in r[1] == 0"},
              {"r[1]", "1: it gives 7 (a number), not true or false"},
              {"r[2]", "1: it gives '2.5' (a string), not true or false"},
              {" r[9]", "2: it gives nil, not true or false"},
              {"r", "1: it gives a table, not true or false"},
              {"r[1] > 6 and r[1]", "1: it gives 7 (a number), not true or false"},
              {"r[4][1] == 1", "1: 'OK' (a string) is not an array"},
              {"nil == r[4].ok", "8: 'OK' (a string) is not an array"},
              {"r[1][1] == 1", "1: attempt to index field '?' (a number value)"},
              {"1 == 1 and r[0] == 1", "12: an array has elements from 1, but not 0 (a number)"},
              {"r.ok == 1", "1: an array has elements from 1, but not 'ok' (a string)"},
              {"1 + r[4] == 1", "3: attempt to perform arithmetic on field '?' (a string value)"},
              {"r[9] + 1 == 1", "6: attempt to perform arithmetic on field '?' (a nil value)"},
              {"tostring(r[1].x) == '1'", "1: attempt to index field '?' (a number value)"},
              {"tonumber('1', 99) == 1", "1: bad argument #2 to 'tonumber' (base out of range)"},
              {"error('no')", "1: no"}},
             [&](const auto& source) { return condition(source, reply); });
  check_each({{"r[2]", "1: it gives '2.5' (a string), not a finite number"},
              {"(r[1] > 1)", "1: it gives true, not a finite number"},
              {"r[1] / 0", "1: it gives inf (a number), not a finite number"},
              {"tonumber('nan')", "1: it gives nan (a number), not a finite number"},
              {"r", "1: it gives a table, not a finite number"}},
             [&](const auto& source) { return number(source, reply); });
  check_each({{"r[2] == 2.5", "a bulk reply is a string: write tonumber(r[2]) == 2.5"},
              {"r[1] == '1'", "write r[1] == 1"},
              {"1 == 2 or (3 < r[7])", "a bulk reply is a string: write 3 < tonumber(r[7])"},
              {"r[7] < r[8]", "a bulk reply is a string: write tonumber(r[7]) < tonumber(r[8])"},
              {"r[1] == 'OK'", ""},
              {"r[9] + 1 == 1", "a missing element is nil: write r[4] and r[4] + 1"},
              {"r[9][1] == 1", "a missing element is nil: write r[4] and r[4] + 1"},
              {"r[1]", "in Lua 0 is true: write r[1] == 1"},
              {"r[1] - 6", "in Lua 0 is true: write (r[1] - 6) == 1"},
              {"r[2]", "a bulk reply is a string: write tonumber(r[2]) == 1"},
              {"r[9]", "compare it: r[9] ~= nil"}},
             [&](const auto& source) { return hint_of(source, reply); });
}

TEST_CASE("expression: json() reads a text") {
  const std::string text = R"({"ok":true,"left":2.5,"a b":[7,null,{"x":"y"}],"no":false})";
  const auto reply =
      reply_of(fmt::format("*3\r\n${}\r\n{}\r\n:1\r\n$5\r\n{{\"ok\"\r\n", text.size(), text));
  check_each(
      {{"json(r[1]).ok", "true"},
       {"json(r[1]).no", "false"},
       {"json(r[1]).none == nil", "true"},
       {"json(r[1]).left > 2 and json(r[1])['a b'][1] == 7", "true"},
       {"json(r[1])['a b'][2] == nil", "true"},
       {"json(r[1])['a b'][3].x == 'y'", "true"},
       {"#json(r[1])['a b'] == 3", "true"},
       {"json(r[4]) == nil", "true"},
       {"cjson.decode(r[1]).ok", "true"},
       {"json(r[1])['a b'].x == 1", "1: an array has elements from 1, but not 'x' (a string)"},
       {"1 == 1 and json(r[2]).ok", "12: json() reads a string, not 1 (a number)"},
       {"json(r[3]).ok", "1: '{\"ok\"' (a string) is not JSON"},
       {"json(('['):rep(101)) == nil",
        "1: '" + std::string(60, '[') +
            "...' (a string) has more than 100 levels or 100000 values"}},
      [&](const auto& source) { return condition(source, reply); });
}

TEST_CASE("expression: a mistake is found before anything runs, with its column") {
  check_each(
      {{"r[1 >= 0", "'r[1 >= 0': expected ']' at column 9"},
       {"", "'': expected a value at column 1"},
       {"  ", "'  ': expected a value at column 3"},
       {"r[1] >", "'r[1] >': expected a value at column 7"},
       {"(r", "'(r': expected ')' at column 3"},
       {"r)", "'r)': expected an operator at column 2"},
       {"r 1", "'r 1': expected an operator at column 3"},
       {"r, 1", "'r, 1': expected an operator at column 2"},
       {"(r, 1)", "'(r, 1)': expected an operator at column 3"},
       {"r[1, 2]", "'r[1, 2]': expected an operator at column 4"},
       {"math.max(1,)", "'math.max(1,)': expected a value at column 12"},
       {"r ? 1 : 0", "'r ? 1 : 0': '?' is not allowed at column 3; write a condition with and, or"},
       {"and r", "'and r': expected a value at column 1"},
       {"r < 1 < 2", "'r < 1 < 2': a comparison of a comparison at column 7 needs parentheses"},
       {"not r == 0", "'not r == 0': the comparison after 'not' at column 1 needs parentheses"},
       {"r or not r < 1",
        "'r or not r < 1': the comparison after 'not' at column 6 needs parentheses"},
       {"r = 1", "'r = 1': '=' is not allowed at column 3; write =="},
       {"r != 1", "'r != 1': '!=' is not allowed at column 3; write ~="},
       {"r && r", "'r && r': '&' is not allowed at column 3; write and"},
       {"!r", "'!r': '!' is not allowed at column 1; write not"},
       {"r <= {limit}",
        "'r <= {limit}': '{' is not allowed at column 6; write the name without braces"},
       {"r == 'x", "'r == 'x': unterminated text at column 6"},
       {"r--1", "'r--1': a comment begins at column 2; write - - for a minus sign twice"},
       {"r == '--'", "accepted"},
       {"(function() end)()",
        "'(function() end)()': 'function' is not allowed at column 2; write an expression without "
        "functions"},
       {"return r", "'return r': expected a value at column 1"},
       {"r; r", "'r; r': expected an operator at column 2"},
       {"...", "'...': expected a value at column 1"},
       {"redis.call('PING')", "'redis.call('PING')': unknown name 'redis' at column 1"},
       {"r > 1 and x.y(z)", "'r > 1 and x.y(z)': unknown name 'x' at column 11"},
       {"_compare(0, r, 1)", "'_compare(0, r, 1)': unknown name '_compare' at column 1"},
       {"r == 3x", "'r == 3x': malformed number near '3x' at column 6"},
       {"r == 'a'.x", "'r == 'a'.x': ')' expected near '.' at column 6"}},
      complaint);
  CHECK(complaint(std::string(501, '(')).find("501 characters") != std::string::npos);
  CHECK(complaint(std::string(250, '(') + "r" + std::string(249, ')')).find("at column") !=
        std::string::npos);
}

TEST_CASE("expression: variables, r and conditions are known without a reply") {
  const Expression one("r[1] > now_ms - limit and now_ms == math.huge", find);
  CHECK(one.variables() == std::vector<std::string>{"now_ms", "limit"});
  CHECK(one.reads_reply());
  CHECK_FALSE(Expression("json('{}').r == nil", find).reads_reply());
  for (const auto* source : {"r > 1", "not r", "not (r > 1)"}) {
    CHECK(Expression(source, find).is_condition());
  }
  for (const auto* source : {"r", "r > 1 and 5 or 6", "math.max(1, r)", "-r[1]"}) {
    CHECK_FALSE(Expression(source, find).is_condition());
  }
}

TEST_CASE("expression: hostile ones end, keep nothing, and reach nothing outside") {
  const auto reply = reply_of(kArray);
  const auto says = [&](const std::string& source, const std::string& text) {
    CAPTURE(source);
    const auto result = condition(source, reply);
    CAPTURE(result);
    CHECK(result.find(text) != std::string::npos);
  };
  says("loadstring('while true do end')() == 1", "1: it ran for more than 1000000 instructions");
  says("pcall(loadstring('while true do end'))", "1: it ran for more than 1000000 instructions");
  says("('x'):rep(1e9) == ''", "it needs more than the 64 MiB of memory that rlctl gives it");
  says("getmetatable('').__index == nil", "false");
  says("getmetatable('').__index.rep == nil", "false");
  says("load(tostring) == nil", "");
  says("loadstring('\\27Lua') == nil", "true");
  says("coroutine.wrap(loadstring('while true do end'))() == 1", "instructions");
  says("rawset(_G, 'x', 1) == nil", "Attempt to modify a readonly table");
  says("loadstring('x = 1')() == nil", "Attempt to modify a readonly table");
  says("#loadstring('return ' .. ('('):rep(300))() == 1", "");
  says("unpack(r, 1, 1e8) == 1", "too many results to unpack");
  says("setmetatable(r, nil)[0] == nil", "true");
  says("r[0] == nil", "an array has elements from 1");
  says("('x'):find(('a'):rep(10001)) == nil", "pattern has more than 10000 bytes");
  says("(('x'):rep(1000) .. '-17'):match('(%d+)$') == '17'", "true");
  // Garbage of many evaluations, and of a large reply, is collected.
  const auto large = reply_of("$2000000\r\n" + std::string(2'000'000, 'x') + "\r\n");
  const Expression length("#r", find);
  for (int i = 0; i < 200; ++i) CHECK(length.number(large, {}) == 2'000'000);
}

TEST_CASE("expression: and, or and not may be nested, and have the values of Lua") {
  const auto reply = reply_of("*3\r\n:4\r\n:-2\r\n:1\r\n");
  for (const auto* source :
       {"not (r[9] == nil and r[1] < r[2])", "(r[9] or 3) == 3 and not (r[9] ~= nil)",
        "(r[1] > 3 and r[2] or 2) == -2", "((r[1] < 3) and r[2] or 2) == 2",
        "(true) ~= (not not (r[1] == r[2]))", "false and false or true and r[1] == 4",
        "not (not (true and r[9] == nil) or false)",
        "math.max(r[2], (r[1] <= 4 and r[9] == nil) and 1 or 2) == 1",
        "-((r[9] == nil or false) and r[1] or 2) * 2 % 3 == 1",
        "((not (#r == 3)) and 1 or (r[3] == 1 and 5 or 6)) == 5"}) {
    CAPTURE(source);
    CHECK(condition(source, reply) == "true");
    CHECK(condition(std::string("not (") + source + ")", reply) == "false");
  }
}

}  // namespace lua_expression_test
