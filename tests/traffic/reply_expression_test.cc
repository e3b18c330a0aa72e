#include "traffic/reply_expression.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/limiters.h"
#include "support/refusal.h"
#include "support/template_values.h"

namespace traffic_reply_expression_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;
using rlctl::UsageError;
using std::chrono::microseconds;

namespace {

/// Evaluates expressions over the reply of a Lua expression.
class Evaluator {
 public:
  explicit Evaluator(const std::string& lua = "nil")
      : reply_(server_.eval("return " + lua, {}, {})) {}

  void set_reply(const std::string& lua) { reply_ = server_.eval("return " + lua, {}, {}); }
  /// "true", "false", or what was expected at which column.
  std::string condition(const std::string& text) {
    const ReplyExpression expression(text);
    try {
      return expression.holds(reply_, template_values()) ? "true" : "false";
    } catch (const UnreadableReply& unreadable) {
      return description(unreadable);
    }
  }
  /// The number, "nil", or what was expected at which column.
  std::string number(const std::string& text) {
    const auto expression = parse_number_expression(text);
    try {
      const auto known = expression.number(reply_, template_values());
      return known ? fmt::to_string(static_cast<double>(*known)) : "nil";
    } catch (const UnreadableReply& unreadable) {
      return description(unreadable);
    }
  }

 private:
  static std::string description(const UnreadableReply& unreadable) {
    return fmt::format("{}: {}", unreadable.column, unreadable.expected);
  }
  TestServer server_;
  rlctl::redis::Reply reply_;
};

/// The error of a text that is no expression.
std::string complaint(std::string_view text) {
  return refusal_of([&] { return ReplyExpression(text); });
}

std::string hint_about(const std::string& text) {
  try {
    const ReplyExpression unused(text);
  } catch (const UsageError& error) {
    return error.hint();
  }
  return "";
}

using Cases = std::vector<std::pair<std::string, std::string>>;

/// Checks what `result_of` says about the first of each pair.
template <typename ResultOf>
void check_each(const Cases& cases, ResultOf result_of) {
  for (const auto& each : cases) {
    CAPTURE(each.first);
    CHECK(result_of(each.first) == each.second);
  }
}

}  // namespace

TEST_CASE("reply expression: r is the reply, or an element of it") {
  Evaluator evaluator("{7, '2.5', {40, {50}}, 'OK'}");
  check_each({{"r[1]", "7"},
              {"r[2]", "2.5"},
              {"r[3][1]", "40"},
              {"r[3][2][1]", "50"},
              {" r [ 1 ] ", "7"},
              {"r[5]", "nil"},
              {"r[5][1]", "nil"},
              {"r", "1: a number"},
              {"r[4]", "1: a number"},
              {"r[3]", "1: a number"},
              {"1 + r[4]", "5: a number"},
              {"r[1][1]", "1: an array"},
              {"#r", "4"},
              {"#r[3]", "2"},
              {"#r[1]", "2: an array"},
              {"#r[5]", "2: an array"},
              {"#r / 2", "2"}},
             [&](const auto& text) { return evaluator.number(text); });
  evaluator.set_reply("{}");
  CHECK(evaluator.number("#r") == "0");
  CHECK(evaluator.number("r[1]") == "nil");
  evaluator.set_reply("'9007199254740993'");
  CHECK(evaluator.condition("r == 9007199254740993") == "true");
  CHECK(evaluator.condition("r == 9007199254740992") == "false");
}

TEST_CASE("reply expression: arithmetic binds as usual, and nil makes it nil") {
  Evaluator evaluator("{6, '4'}");
  check_each({{"1 + 2 * 3", "7"},
              {"(1 + 2) * 3", "9"},
              {"10 - 4 - 3", "3"},
              {"24 / 4 / 2", "3"},
              {"-2 * -3", "6"},
              {"- r[1] + 10", "4"},
              {"--2", "2"},
              {"2 * 3 + 4 * 5", "26"},
              {"r[1] - r[2]", "2"},
              {"0.5 + 1e1", "10.5"},
              {"r[3] + 1", "nil"},
              {"-r[3]", "nil"},
              {"nil", "nil"},
              {"1 / 0", "5: a divisor other than 0"},
              {"r[1] / (r[2] - 4)", "9: a divisor other than 0"}},
             [&](const auto& text) { return evaluator.number(text); });
}

TEST_CASE("reply expression: a result that is not finite is not readable") {
  std::string product = "1";
  for (int i = 0; i < 17; ++i) product += "*1e300";
  Evaluator evaluator;
  CHECK(evaluator.number(product) == "1: a finite result");
  CHECK(evaluator.condition("2 > " + product) == "5: a finite result");
  CHECK(evaluator.number("0 * (" + product + " - " + product + ")") == "6: a finite result");
}

TEST_CASE("reply expression: comparisons are of numbers, also of those that arrive as text") {
  Evaluator evaluator("{1, '10', '9.5', 'OK', {1}}");
  check_each(
      {{"r[1] == 1", "true"},           {"r[1] != 1", "false"},       {"r[2] == 10", "true"},
       {"r[2] > r[3]", "true"},         {"r[3] < 9.6", "true"},       {"r[3] <= 9.5", "true"},
       {"r[3] >= 9.6", "false"},        {"r[1] > 1", "false"},        {"1 + 1 < 3 * 1", "true"},
       {"r[4] == 'OK'", "true"},        {"r[4] != \"OK\"", "false"},  {"r[2] == '10'", "true"},
       {"r[1] == '1'", "true"},         {"r[1] == 'OK'", "false"},    {"'OK' != r[1]", "true"},
       {"r[5] == 'OK'", "1: a number"}, {"r[4] == 1", "1: a number"}, {"1 == r[4]", "6: a number"},
       {"r[4] > 1", "1: a number"},     {"r[5] >= 0", "1: a number"}, {"r == r", "1: a number"},
       {"r[6] == nil", "true"},         {"r[6] != nil", "false"},     {"r[1] == nil", "false"},
       {"r[5] == nil", "false"},        {"nil == 0", "false"},        {"r[6] == 'OK'", "false"},
       {"r[6] >= 0", "1: a number"},    {"0 <= r[6]", "6: a number"}},
      [&](const auto& text) { return evaluator.condition(text); });
}

TEST_CASE("reply expression: a number is a condition, and conditions combine") {
  Evaluator evaluator("{1, 0, '0', false, 'x', -1}");
  check_each({{"r[1]", "true"},
              {"r[2]", "false"},
              {"r[3]", "false"},
              {"r[4]", "false"},
              {"r[6]", "true"},
              {"r[5]", "1: a number"},
              {"r", "1: a number"},
              {"true", "true"},
              {"false", "false"},
              {"not r[2]", "true"},
              {"not not r[2]", "false"},
              {"true or false and false", "true"},
              {"(true or false) and false", "false"},
              {"not true or true", "true"},
              {"not (true or true)", "false"},
              {"false and r[5]", "false"},
              {"true or r[5]", "true"},
              {"true and r[5]", "10: a number"},
              {"r[1] == true", "true"},
              {"r[6] == true", "true"},
              {"r[2] == false", "true"},
              {"r[4] == false", "true"},
              {"r[1] != true", "false"},
              {"(r[1] > 0) == (r[2] > 0)", "false"},
              {"r[1] == 1 and r[2] == 0 or r[5]", "true"}},
             [&](const auto& text) { return evaluator.condition(text); });
}

TEST_CASE("reply expression: placeholders that are numbers are names") {
  Evaluator evaluator("5");
  CHECK(evaluator.condition("r <= limit") == "true");
  CHECK(evaluator.condition("r + cost <= limit") == "false");
  for (const auto& row : placeholders()) {
    CAPTURE(row.name);
    if (row.name == "key") {
      CHECK(complaint(row.name) != "accepted");
      continue;
    }
    std::string text;
    row.append(text, template_values());
    CHECK(evaluator.condition(std::string(row.name) + " == " + text) == "true");
  }
  CHECK_THROWS_AS(ReplyExpression("r < window_s").require_usable({5, 1500ms, {}}), UsageError);
  CHECK_NOTHROW(ReplyExpression("r < window_ms").require_usable({5, 1500ms, {}}));
}

TEST_CASE("reply expression: a mistake is reported with its column") {
  check_each(
      {{"r[1 >= 0", "'r[1 >= 0': expected ']' at column 5"},
       {"", "'': expected a value at column 1"},
       {"  ", "'  ': expected a value at column 3"},
       {"r[1] >", "'r[1] >': expected a value at column 7"},
       {"(r", "'(r': expected ')' at column 3"},
       {"r)", "'r)': expected an operator at column 2"},
       {"r 1", "'r 1': expected an operator at column 3"},
       {"r[0]", "'r[0]': expected the number of an element, from 1, at column 3"},
       {"r[1.5]", "'r[1.5]': expected the number of an element, from 1, at column 3"},
       {"r[x]", "'r[x]': expected the number of an element, from 1, at column 3"},
       {"r.allowed",
        "'r.allowed': '.' is not an operator at column 2; write r[1] for an element, 0.5 for a "
        "half"},
       {"r > .5",
        "'r > .5': '.' is not an operator at column 5; write r[1] for an element, 0.5 for a "
        "half"},
       {"r ? 1 : 0",
        "'r ? 1 : 0': '?' is not an operator at column 3; write a condition with and, or"},
       {"#5", "'#5': expected 'r' at column 2"},
       {"and r", "'and r': expected a value at column 1"},
       {"r < 1 < 2", "'r < 1 < 2': expected a number, not a condition, at column 1"},
       {"1 + (r > 2)", "'1 + (r > 2)': expected a number, not a condition, at column 6"},
       {"-true", "'-true': expected a number, not a condition, at column 2"},
       {"not r == 0", "'not r == 0': the comparison after 'not' at column 1 needs parentheses"},
       {"r or not r < 1",
        "'r or not r < 1': the comparison after 'not' at column 6 needs parentheses"},
       {"r ~= 1", "'r ~= 1': '~=' is not an operator at column 3; write !="},
       {"r = 1", "'r = 1': '=' is not an operator at column 3; write =="},
       {"r && r", "'r && r': '&&' is not an operator at column 3; write and"},
       {"!r", "'!r': '!' is not an operator at column 1; write not"},
       {"r <= {limit}",
        "'r <= {limit}': '{' is not an operator at column 6; write the name without braces"},
       {"r == 'x", "'r == 'x': unterminated text at column 6"},
       {"r < 1e999", "'r < 1e999': expected a smaller number at column 5"},
       {"r <= lmit", "'r <= lmit': unknown name 'lmit' at column 6; did you mean 'limit'?"},
       {"key == 1", "'key == 1': 'key' is text, not a number, at column 1"}},
      [&](const auto& text) { return complaint(text); });
  CHECK(complaint(std::string(501, '(')).find("501 characters") != std::string::npos);
  CHECK(complaint(std::string(500, '(')).find("at column 501") != std::string::npos);
}

TEST_CASE("reply expression: a comparison after 'not' is shown with parentheses") {
  check_each({{"not r > 1", "write not (r > 1)"},
              {"r and not  r[2] == limit + 1 and 1", "write not (r[2] == limit + 1)"},
              {"(not r == 'x' )", "write not (r == 'x')"}},
             [&](const auto& text) { return hint_about(text); });
}

TEST_CASE("reply expression: the names in the hint are usable") {
  const auto hint = hint_about("nope");
  CHECK(hint.find(" limit,") != std::string::npos);
  CHECK(hint.find("key") == std::string::npos);
}

TEST_CASE("reply expression: it is known whether an expression contains the limit") {
  CHECK(ReplyExpression("r <= limit").uses_limit());
  CHECK(ReplyExpression("r[1] - window_ms").uses_limit());
  CHECK_FALSE(ReplyExpression("r == 'limited'").uses_limit());
  CHECK_FALSE(ReplyExpression("r > now_ms + cost").uses_limit());
}

TEST_CASE("reply expression: a time has a unit") {
  for (const auto& [text, unit] :
       std::vector<std::pair<std::string, microseconds>>{{"r[3] s", 1s},
                                                         {"r[3]ms", 1ms},
                                                         {"r[2] - now_ms ms", 1ms},
                                                         {"r us ", 1us},
                                                         {"5s", 1s},
                                                         {"0.5ms", 1ms},
                                                         {"r - 1e3us", 1us},
                                                         {"(r + 1)s", 1s}}) {
    const auto& tried = text;  // CAPTURE cannot take a structured binding
    CAPTURE(tried);
    CHECK(parse_wait_expression(text).unit == unit);
  }
  CHECK(parse_wait_expression("r[2] - now_ms ms").expression.source() == "r[2] - now_ms ms");
  check_each(
      {{"r[3]", "'r[3]' has no unit; write 'r[3] s', 'r[3] ms' or 'r[3] us'"},
       {"r", "'r' has no unit; write 'r s', 'r ms' or 'r us'"},
       {"r - now_s",
        "'r - now_s' has no unit; write 'r - now_s s', 'r - now_s ms' or 'r - now_s us'"},
       {"5", "'5' has no unit; write '5 s', '5 ms' or '5 us'"},
       {"r[3] m", "the unit of a wait is s, ms or us, not 'm'"},
       {"s", "'s': there is no expression before the unit"},
       {" ms", "' ms': there is no expression before the unit"},
       {"", "'': expected a value at column 1"},
       {"r s s", "'r s s': expected an operator at column 3"},
       {"r and s", "'r and s': expected a value at column 7"},
       {"r > 1 s", "'r > 1 s' is a condition, not a number"},
       {"r[3 s", "'r[3 s': expected ']' at column 5"},
       {"1e3", "'1e3' has no unit; write '1e3 s', '1e3 ms' or '1e3 us'"}},
      [&](const auto& text) { return refusal_of([&] { return parse_wait_expression(text); }); });
}

}  // namespace traffic_reply_expression_test
