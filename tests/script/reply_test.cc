// needs: server
#include "script/reply.h"
#include "base/shell.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shell.h"
#include "limiter/limit.h"
#include "redis/error.h"
#include "support/check_each.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "support/refusal.h"
#include "support/template_values.h"

namespace rlctl::script::reply_test {

using namespace std::chrono_literals;
using namespace limiter;
using namespace redis;
using namespace test;

namespace {

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

constexpr auto kUnread = "unreadable";

ReplyReading reading(std::string_view allowed_when) {
  return {.allowed_when = parse_allowed_when(allowed_when)};
}

/// With an expression for the retry_after, or for the delay of 'always'.
ReplyReading waiting(std::string_view allowed_when, std::string_view wait) {
  auto result = reading(allowed_when);
  (allowed_when == "always" ? result.delay : result.retry_after) = parse_wait_expression(wait);
  return result;
}

/// The decision read from the reply of a Lua expression, with a limit of 5.
class Reader {
 public:
  explicit Reader(const TemplateValues& values = {.limit = {5, 60s, {}}, .now = 1'000s})
      : values_(values) {}

  redis::Reply reply(const std::string& lua) { return server_.eval("return " + lua, {}, {}); }
  Decision decision(const std::string& lua, const ReplyReading& reading) {
    return read_reply(reply(lua), reading, values_, "x.lua");
  }
  std::string allows(const std::string& lua, std::string_view when) {
    try {
      return decision(lua, reading(when)).allowed ? "allowed" : "denied";
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::kRejected);
      return kUnread;
    }
  }
  std::string text(const std::string& lua) { return reply_text(reply(lua)); }
  std::string complaint(const std::string& lua, const ReplyReading& reading) {
    return support::error_of([&] { static_cast<void>(decision(lua, reading)); }).what();
  }
  std::string hint(const std::string& lua, const ReplyReading& reading) {
    return support::error_of([&] { static_cast<void>(decision(lua, reading)); }).hint();
  }

 private:
  TestServer server_;
  TemplateValues values_;
};

}  // namespace

TEST_CASE("reply expression: placeholders that are numbers are names") {
  const auto reply = Reader().reply("5");
  CHECK(ReplyExpression("r <= limit").holds(reply, template_values()));
  CHECK_FALSE(ReplyExpression("r + cost <= limit").holds(reply, template_values()));
  for (const auto& row : placeholders()) {
    CAPTURE(row.name);
    constexpr std::array<std::string_view, 3> kTexts{"event", "holder", "reservation"};
    if (row.name.starts_with("key") || std::ranges::count(kTexts, row.name) > 0) {
      CHECK(complaint(row.name) != "accepted");
      continue;
    }
    std::string text;
    row.append(text, template_values());
    CHECK(ReplyExpression(std::string(row.name) + " == " + text).holds(reply, template_values()));
  }
  CHECK_THROWS_AS(ReplyExpression("r < window_s").require_usable({5, 1500ms, {}}), UsageError);
  CHECK_NOTHROW(ReplyExpression("r < window_ms").require_usable({5, 1500ms, {}}));
}

TEST_CASE("reply expression: an unknown name is reported with its column") {
  check_each(
      {{"r > limitt", "'r > limitt': unknown name 'limitt' at column 5; did you mean 'limit'?"},
       {"r > nowms", "'r > nowms': unknown name 'nowms' at column 5; did you mean 'now_ms'?"},
       {"key == 1", "'key == 1': 'key' is text, not a number, at column 1"},
       {"redis == r", "'redis == r': unknown name 'redis' at column 1"}},
      [&](const auto& text) { return complaint(text); });
  const auto hint = hint_about("nope");
  CHECK(hint.find(" limit,") != std::string::npos);
  CHECK(hint.find("key") == std::string::npos);
}

TEST_CASE("reply expression: it is known whether an expression contains the limit") {
  CHECK(ReplyExpression("r <= limit").uses_limit());
  CHECK(ReplyExpression("r[1] - window_ms").uses_limit());
  CHECK_FALSE(ReplyExpression("r == 'limited'").uses_limit());
  CHECK_FALSE(ReplyExpression("r > now_ms + cost").uses_limit());
  CHECK(uses_limit(reading("<=limit")));
  CHECK_FALSE(uses_limit(reading("zero")));
}

TEST_CASE("reply expression: a time has a unit") {
  check_each(
      {{"r[3] s", "1000000"},
       {"r[3]ms", "1000"},
       {"r[2] - now_ms ms", "1000"},
       {"r us ", "1"},
       {"5s", "1000000"},
       {"0.5ms", "1000"},
       {"r - 1e3us", "1"},
       {"(r + 1)s", "1000000"}},
      [](const auto& text) { return std::to_string(parse_wait_expression(text).unit.count()); });
  CHECK(parse_wait_expression("r[2] - now_ms ms").expression.source() == "r[2] - now_ms");
  check_each(
      {{"r[3]", "'r[3]' has no unit; write 'r[3] s', 'r[3] ms' or 'r[3] us'"},
       {"r.wait1s", "'r.wait1s' has no unit; write 'r.wait1s s', 'r.wait1s ms' or 'r.wait1s us'"},
       {"r or nil", "'r or nil' has no unit; write 'r or nil s', 'r or nil ms' or 'r or nil us'"},
       {"r - now_s",
        "'r - now_s' has no unit; write 'r - now_s s', 'r - now_s ms' or 'r - now_s us'"},
       {"5", "'5' has no unit; write '5 s', '5 ms' or '5 us'"},
       {"r[3] m", "the unit of a wait is s, ms or us, not 'm'"},
       {"s", "'': expected a value at column 1"},
       {"", "'': expected a value at column 1"},
       {"r s s", "'r s': expected an operator at column 3"},
       {"r and s", "'r and': expected a value at column 6"},
       {"r > 1 s", "'r > 1' is a condition, not a number"},
       {"r[3 s", "'r[3': expected ']' at column 4"},
       {"json(r).wait_ms",
        "'json(r).wait_ms' has no unit; write 'json(r).wait_ms s', 'json(r).wait_ms ms' or "
        "'json(r).wait_ms us'"},
       {"1e3", "'1e3' has no unit; write '1e3 s', '1e3 ms' or '1e3 us'"}},
      [&](const auto& text) { return refusal_of([&] { return parse_wait_expression(text); }); });
}

TEST_CASE("reply reading: the option determines which numbers allow") {
  Reader reader;
  struct Case {
    std::string lua, nonzero, zero, at_most;
  };
  const std::string yes = "allowed", no = "denied";
  for (const auto& each : std::initializer_list<Case>{
           {"0", no, yes, yes},
           {"1", yes, no, yes},
           {"5", yes, no, yes},
           {"6", yes, no, no},
           {"-1", yes, no, yes},
           {"'0'", no, yes, yes},
           {"'0.00'", no, yes, yes},
           {"'0.25'", yes, no, yes},
           {"'5.5'", yes, no, no},
           {"'1e1'", yes, no, no},
           {"true", yes, no, yes},
           {"false", no, yes, kUnread},
           {"nil", no, yes, kUnread},
           {"{1, 0}", yes, no, yes},
           {"{0, 1}", no, yes, yes},
           {"{'6', 1}", yes, no, no},
           {"{false, 1}", no, yes, kUnread},
           {"{}", kUnread, kUnread, kUnread},
           {"{{1}}", kUnread, kUnread, kUnread},
           {"''", kUnread, kUnread, kUnread},
           {"'1 '", kUnread, kUnread, kUnread},
           {"'inf'", kUnread, kUnread, kUnread},
           {"'nan'", kUnread, kUnread, kUnread},
           {"{ok = 'OK'}", kUnread, kUnread, kUnread},
       }) {
    CAPTURE(each.lua);
    CHECK(reader.allows(each.lua, "nonzero") == each.nonzero);
    CHECK(reader.allows(each.lua, "zero") == each.zero);
    CHECK(reader.allows(each.lua, "<=limit") == each.at_most);
    CHECK(reader.allows(each.lua, "always") == yes);
  }
}

TEST_CASE("reply reading: with 'nil', nil allows and anything else denies") {
  Reader reader;
  check_each({{"nil", "allowed"},
              {"false", "allowed"},
              {"{false, 5}", "allowed"},
              {"1", "denied"},
              {"0", "denied"},
              {"''", "denied"},
              {"'OK'", "denied"},
              {"{1}", "denied"},
              {"{ok = 'OK'}", "denied"},
              {"{}", kUnread}},
             [&](const auto& lua) { return reader.allows(lua, "nil"); });
}

TEST_CASE("reply reading: a denial promises nothing unless an expression says its wait") {
  Reader reader;
  CHECK(reader.decision("0", {}).retry_after == kTimeNotTold);
  CHECK(reader.decision("0", {}).remaining == kNotTold);
  CHECK(reader.decision("0", {}).reset_after == kTimeNotTold);
  CHECK(reader.decision("0", {}).delay == 0us);
  const ReplyReading zero = waiting("zero", "tonumber(r) s"), nil = waiting("nil", "r[1] ms");
  CHECK(reader.decision("'2.5'", zero).retry_after == 2500ms);
  CHECK_FALSE(reader.decision("'2.5'", zero).allowed);
  CHECK(reader.decision("0", zero).allowed);
  CHECK(reader.decision("0", zero).retry_after == 0us);
  CHECK(reader.decision("{250, 9}", nil).retry_after == 250ms);
  CHECK(reader.decision("false", nil).allowed);
}

TEST_CASE("reply reading: with 'always', the reply may be the delay before the request proceeds") {
  Reader reader;
  const ReplyReading seconds = waiting("always", "tonumber(r) s");
  CHECK(reader.decision("'0.1'", seconds) ==
        Decision{
            .allowed = true, .remaining = kNotTold, .reset_after = kTimeNotTold, .delay = 100ms});
  CHECK(reader.decision("7", waiting("always", "r us")).delay == 7us);
  CHECK(reader.decision("nil", seconds).delay == 0us);
  CHECK(reader.decision("'OK'", reading("always")).delay == 0us);
  for (const std::string lua : {"-1", "'-0.5'", "'1e30'"}) {
    CAPTURE(lua);
    CHECK_FALSE(reader.complaint(lua, seconds).empty());
  }
}

TEST_CASE("reply reading: a delay may be an expression, which must not be negative") {
  Reader reader;
  auto delayed = reading("r[1] == 1");
  delayed.delay = parse_wait_expression("r[2] and r[2] - now_s s");
  CHECK(reader.decision("{1, 1003}", delayed).delay == 3s);
  CHECK(reader.decision("{1}", delayed).delay == 0us);
  CHECK(reader.decision("{0, 1003}", delayed).delay == 0us);
  CHECK(reader.complaint("{1, 999}", delayed) ==
        "delay: x.lua replied [1, 999], but 'r[2] and r[2] - now_s' is negative");
}

TEST_CASE("reply reading: the hint at a time since 1970 is an expression that is a wait") {
  Reader reader(template_values());
  struct Row {
    std::string reply, given, hint;
  };
  // Each reply is a time about a second after the request.
  for (const auto& row : std::vector<Row>{
           {"1767225661", "r s", "r - now_s s"},
           {"1767225661000", "r ms", "r - now_ms ms"},
           {"1767225661000000", "r us", "r - now_us us"},
           {"'1767225661'", "r * 1000 ms", "(r * 1000) - now_ms ms"},
           {"{false, 1767225661000}", "r[1] or r[2] ms", "(r[1] or r[2]) - now_ms ms"},
           {"'{\"now\":1767225661000}'", "json(r)['now'] ms", "json(r)['now'] - now_ms ms"},
           // Less another unit of the clock than that of the reply, or given in another unit.
           {"1767225661000", "r - now ms", "r - now_ms ms"},
           {"1767225661", "r - now_ms s", "r - now_s s"},
           {"1767225661000", "r s", "r - now_ms ms"},
       }) {
    CAPTURE(row.given);
    const std::string has_time = row.given.find("now") < row.given.find('(')
                                     ? "use the unit of the reply"
                                     : "subtract the time of the request";
    CHECK(reader.hint(row.reply, waiting("r == nil", row.given)) ==
          has_time + ": --head " + shell_quoted("retry_after " + std::string(row.hint)));
    const auto wait = reader.decision(row.reply, waiting("r == nil", row.hint)).retry_after;
    CHECK(wait > 900ms);
    CHECK(wait < 1100ms);
  }
  // Nothing that was tried is a time of a few windows.
  CHECK(reader.hint("1777225661000", waiting("r == 0", "r - now ms")) ==
        "subtract the time of the request in the unit of the reply");
  CHECK(reader.hint("'9e20'", waiting("r == '0'", "tonumber(r) ms")) ==
        "choose the unit of the reply: s, ms or us");
}

TEST_CASE("reply reading: a hint is tried on the replies before, too") {
  Reader reader(template_values());
  std::vector<SeenReply> seen;
  const auto see = [&](const std::string& lua) {
    auto values = template_values();
    values.id = std::ssize(seen) + 1;
    seen.push_back({reader.reply(lua), values});
  };
  auto later = template_values();
  later.id = 9;
  const auto hint = [&](const std::string& lua, const ReplyReading& reading) {
    const auto reply = reader.reply(lua);
    return support::error_of(
               [&] { static_cast<void>(read_reply(reply, reading, later, "x.lua", seen)); })
        .hint();
  };
  // -1 is no time since 1970, and nil is no number.
  see("{0, -1}");
  see("{0}");
  CHECK(
      hint("{0, 1767225661000}", waiting("r[1] == 1", "r[2] ms")) ==
      "subtract the time of the request: --head 'retry_after (r[2] or 0) > 0 and r[2] - now_ms or "
      "nil ms'");
  see("{0, 99999999}");
  CHECK(hint("{0, 1767225661000}", waiting("r[1] == 1", "r[2] ms")) ==
        "subtract the time of the request in the unit of the reply");
  seen.clear();
  see("nil");
  CHECK(hint("'LIMITED'", {}) == "if this reply denies, use --allowed-when 'r ~= \"LIMITED\"'");
  see("7");
  CHECK(hint("'LIMITED'", {}).starts_with("it reads a reply"));
}

TEST_CASE("reply reading: a text as the first reply of a key is taken for that of an allowed one") {
  Reader reader;
  check_each({{"redis.status_reply('ALLOW')", "r == \"ALLOW\""}, {"{'OK', 4}", "r[1] == \"OK\""}},
             [&](const auto& lua) {
               const auto hint = reader.hint(lua, {});
               CHECK(reader.hint(lua, reading(lua[0] == '{' ? "r[1] == 1" : "r > 0")) == hint);
               return hint.substr(hint.find('\'') + 1, hint.rfind('\'') - hint.find('\'') - 1);
             });
  for (const std::string lua : {"'a\"b'", "'left 4'", "'\\1'", "{{}}", "{}"}) {
    CHECK(reader.hint(lua, {}).find("==") == std::string::npos);
  }
}

TEST_CASE("reply reading: a time since 1970 is not a wait") {
  Reader reader(template_values());
  const std::string is_a_time = " is then a time since 1970, not one to wait for";
  CHECK(reader.complaint("1767225661000", waiting("always", "r ms")) ==
        "delay: x.lua replied 1767225661000, but 'r'" + is_a_time);
  CHECK(reader.complaint("'1767225661'", waiting("r == 'OK'", "tonumber(r) s")) ==
        "retry_after: x.lua replied '1767225661', but 'tonumber(r)'" + is_a_time);
}

TEST_CASE("reply reading: the error with the given code denies") {
  Reader reader;
  auto by_error = reading("r == 'OK'");
  by_error.denied_error = parse_error_code("LIMIT");
  CHECK_FALSE(reader.decision("redis.error_reply('LIMIT too many')", by_error).allowed);
  CHECK(reader.decision("redis.status_reply('OK')", by_error).allowed);
  CHECK_FALSE(is_denial(reader.reply("redis.error_reply('LIMITS of')"), by_error));
  CHECK_FALSE(is_denial(reader.reply("redis.error_reply('LIMIT x')"), reading("nil")));
  CHECK_FALSE(is_denial(reader.reply("'LIMIT x'"), by_error));
  for (const auto* code : {"", "ERR", "TOO MANY"}) {
    CHECK_THROWS_AS(static_cast<void>(parse_error_code(code)), UsageError);
  }
}

TEST_CASE("reply reading: an unreadable reply is shown with what was expected") {
  Reader reader;
  CHECK(reader.complaint("{ok = 'OK'}", {}) ==
        "allowed: x.lua replied 'OK', but 'nonzero' reads a number, or true or false");
  CHECK(reader.complaint("nil", reading("<=limit")) ==
        "allowed: x.lua replied nil, but '<=limit' reads a count");
  CHECK(reader.text("7") == "7");
  CHECK(reader.text("nil") == "nil");
  CHECK(reader.text("'a\\nb'") == "'a\\nb'");
  CHECK(reader.text("{1, 'x', false, {2}}") == "[1, 'x', nil, [...]]");
  CHECK(reader.text("{1, 2, 3, 4, 5, 6, 7, 8, 9}") == "[1, 2, 3, 4, 5, 6, 7, 8, ...]");
  CHECK(reader.text("string.rep('x', 1000)").size() < 100);
}

TEST_CASE("reply reading: a reply with many long texts is still shown in one short line") {
  Reader reader;
  const auto times = [](int count, const std::string& text) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const auto eight = [&](const std::string& character) {
    return reader.text("{" + times(8, "string.rep('" + character + "', 1000), ") + "}");
  };
  CHECK(eight("x") == "[" + times(4, "'" + times(60, "x") + "...', ") + "...]");
  CHECK(eight("\\15") == "['" + times(60, "\\x0f") + "...', ...]");
}

TEST_CASE("reply reading: an expression decides about the whole reply") {
  Reader reader;
  CHECK(reader.allows("{0, 1}", "r[2] > 0") == "allowed");
  CHECK(reader.allows("{-1, 5}", "r[1] >= 0") == "denied");
  CHECK(reader.allows("{1, 1, 1, 0}", "r[4] == 0") == "allowed");
  CHECK(reader.allows("{'a', 1, 'b', 2}", "#r / 2 <= limit") == "allowed");
  CHECK(reader.allows("{0, 7}", "r") == kUnread);
  CHECK(reader.allows("{0, 7}", "r[1]") == kUnread);
  CHECK(reader.allows("{}", "#r == 0") == "allowed");
  CHECK(reader.complaint("{'1', 2}", reading("r[1] > 0")) ==
        "allowed: x.lua replied ['1', 2], but 'r[1] > 0' fails at column 6: it compares '1' "
        "(a string) with 0 (a number)");
  CHECK(reader.hint("{'1', 2}", reading("r[1] > 0")) ==
        "a bulk reply is a string: write tonumber(r[1]) > 0");
  CHECK(reader.complaint("{0, 2}", reading("r[1]")) ==
        "allowed: x.lua replied [0, 2], but 'r[1]' fails at column 1: it gives 0 (a number), "
        "not true or false");
  CHECK(reader.hint("{0, 2}", reading("r[1]")) == "in Lua 0 is true: write r[1] == 1");
  CHECK(reader.hint("{{}}", reading("r[1][1] > 0")) == "choose an expression that fits the script");
}

TEST_CASE("reply reading: the other readings are of the whole reply, and nil is not told") {
  Reader reader;
  const ReplyReading all{.allowed_when = parse_allowed_when("r[1] > 0"),
                         .remaining = parse_number_expression("r[2] and tonumber(r[2])"),
                         .retry_after = parse_wait_expression("r[3] and tonumber(r[3]) s"),
                         .reset_after = parse_wait_expression("r[4] and r[4] - now_ms ms")};
  CHECK(reader.decision("{1, '4.9', -1, 1000250}", all) ==
        Decision{.allowed = true, .remaining = 4, .reset_after = 250ms});
  CHECK(reader.decision("{0, 0, '0.25', 1000000}", all) ==
        Decision{.remaining = 0, .retry_after = 250ms});
  CHECK(reader.decision("{0, -3, -1, 5}", all) == Decision{.remaining = 0, .retry_after = kNever});
  CHECK(reader.decision("{0}", all) ==
        Decision{.remaining = kNotTold, .retry_after = kTimeNotTold, .reset_after = kTimeNotTold});
  CHECK(reader.decision("{0, 1, '-0.000002'}", all).retry_after == kNever);
  CHECK(reader.decision("{1, '1e30'}", all).remaining == kLargestProduct);
  CHECK(reader.complaint("{0, 1, '1e30'}", all).find("' is too long a time") != std::string::npos);
  CHECK(reader.complaint("{1, 1, 'x', 'y'}", all).find("reset_after") != std::string::npos);
  const ReplyReading text{.allowed_when = parse_allowed_when("r[1] > 0"),
                          .remaining = parse_number_expression("r[2]"),
                          .retry_after = parse_wait_expression("r[3] s")};
  CHECK(reader.complaint("{1, '4'}", text) ==
        "remaining: x.lua replied [1, '4'], but 'r[2]' fails at column 1: it gives '4' (a "
        "string), not a finite number");
  CHECK(reader.hint("{1, '4'}", text) == "a bulk reply is a string: write tonumber(r[2])");
  CHECK(reader.complaint("{0, 1, '5'}", text).find("but 'r[3]' fails at column 1") !=
        std::string::npos);
}

TEST_CASE("reply reading: names are spelled as on the command line, and the default is first") {
  CHECK(named_conditions().front().name == "nonzero");
  CHECK(ReplyReading{}.allowed_when.named == &named_conditions().front());
  for (const auto& row : named_conditions()) CHECK(parse_allowed_when(row.name).named == &row);
  CHECK(parse_allowed_when("r == nil").named == nullptr);
  // A constant would allow every request, or none.
  check_each({{"non-zero", "'non-zero' is not a condition; did you mean 'nonzero'?"},
              {"true", "'true' does not depend on the reply r"},
              {"1", "'1' does not depend on the reply r"},
              {"limit > 1", "'limit > 1' does not depend on the reply r"}},
             [](const auto& text) { return refusal_of([&] { return parse_allowed_when(text); }); });
  CHECK_THROWS_AS(static_cast<void>(parse_allowed_when("")), UsageError);
  try {
    static_cast<void>(parse_allowed_when("r[1"));
  } catch (const UsageError& error) {
    CHECK(error.hint() ==
          "it is nonzero, zero, nil, <=limit or always, or an expression such as 'r[1] == 1'");
  }
}

TEST_CASE("reply reading: whole seconds of the window need a window of whole seconds") {
  auto odd = reading("r <= window_s");
  CHECK_NOTHROW(require_usable(odd, {5, 60s, {}}));
  CHECK_THROWS_AS(require_usable(odd, {5, 1500ms, {}}), UsageError);
}

}  // namespace rlctl::script::reply_test
