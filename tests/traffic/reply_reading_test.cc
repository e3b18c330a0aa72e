#include "traffic/reply_reading.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "limiter/limit.h"
#include "redis/error.h"
#include "support/failure.h"
#include "support/limiters.h"

namespace traffic_reply_reading_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::redis;
using namespace rlctl::traffic;
using namespace rlctl::test;

namespace {

constexpr auto kUnread = "unreadable";

ReplyReading reading(std::string_view allowed_when, std::optional<microseconds> delay_unit = {}) {
  return {.allowed_when = parse_allowed_when(allowed_when), .delay_unit = delay_unit};
}

/// The decision read from the reply of a Lua expression, with a limit of 5.
class Reader {
 public:
  Decision decision(const std::string& lua, const ReplyReading& reading) {
    return read_reply(server_.eval("return " + lua, {}, {}), reading,
                      {.limit = {5, 60s, {}}, .now = 1'000s}, "x.lua");
  }
  std::string allows(const std::string& lua, std::string_view when) {
    try {
      return decision(lua, reading(when)).allowed ? "allowed" : "denied";
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::kRejected);
      return kUnread;
    }
  }
  std::string text(const std::string& lua) {
    return reply_text(server_.eval("return " + lua, {}, {}));
  }
  std::string complaint(const std::string& lua, const ReplyReading& reading) {
    return support::error_of([&] { static_cast<void>(decision(lua, reading)); }).what();
  }

 private:
  TestServer server_;
};

}  // namespace

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
  for (const std::string lua : {"nil", "false", "{false, 5}"}) {
    CAPTURE(lua);
    CHECK(reader.allows(lua, "nil") == "allowed");
  }
  for (const std::string lua : {"1", "0", "''", "'OK'", "{1}", "{ok = 'OK'}"}) {
    CAPTURE(lua);
    CHECK(reader.allows(lua, "nil") == "denied");
  }
  CHECK(reader.allows("{}", "nil") == kUnread);
}

TEST_CASE("reply reading: a denial promises nothing unless the reply is a wait") {
  Reader reader;
  CHECK(reader.decision("0", {}).retry_after == kTimeNotTold);
  CHECK(reader.decision("0", {}).remaining == kNotTold);
  CHECK(reader.decision("0", {}).reset_after == kTimeNotTold);
  CHECK(reader.decision("0", {}).delay == 0us);
  const ReplyReading zero = reading("zero", 1s), nil = reading("nil", 1ms);
  CHECK(reader.decision("'2.5'", zero).retry_after == 2500ms);
  CHECK_FALSE(reader.decision("'2.5'", zero).allowed);
  CHECK(reader.decision("0", zero).allowed);
  CHECK(reader.decision("0", zero).retry_after == 0us);
  CHECK(reader.decision("{250, 9}", nil).retry_after == 250ms);
  CHECK(reader.decision("false", nil).allowed);
  CHECK(reader.complaint("'soon'", nil) ==
        "x.lua replied 'soon', but --allowed-when 'nil' with --delay-unit reads a wait of 0 or "
        "more");
}

TEST_CASE("reply reading: with 'always', the reply is the delay before the request proceeds") {
  Reader reader;
  const ReplyReading seconds = reading("always", 1s);
  CHECK(reader.decision("'0.1'", seconds) ==
        Decision{
            .allowed = true, .remaining = kNotTold, .reset_after = kTimeNotTold, .delay = 100ms});
  CHECK(reader.decision("7", reading("always", 1us)).delay == 7us);
  CHECK(reader.decision("nil", seconds).delay == 0us);
  CHECK(reader.decision("'OK'", reading("always")).delay == 0us);
  for (const std::string lua : {"-1", "'-0.5'", "'1e30'", "'OK'", "{}"}) {
    CAPTURE(lua);
    CHECK_FALSE(reader.complaint(lua, seconds).empty());
  }
}

TEST_CASE("reply reading: an unreadable reply is shown with what was expected") {
  Reader reader;
  CHECK(reader.complaint("{ok = 'OK'}", {}) ==
        "x.lua replied 'OK', but --allowed-when 'nonzero' reads a number, or true or false");
  CHECK(reader.complaint("nil", reading("<=limit")) ==
        "x.lua replied nil, but --allowed-when '<=limit' reads a count");
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
  CHECK(reader.allows("{}", "#r == 0") == "allowed");
  CHECK(reader.complaint("{'x', 2}", reading("r[1] > 0")) ==
        "x.lua replied ['x', 2], but --allowed-when 'r[1] > 0' expects a number at column 1");
}

TEST_CASE("reply reading: the other readings are of the whole reply, and nil is not told") {
  Reader reader;
  const ReplyReading all{.allowed_when = parse_allowed_when("r[1] > 0"),
                         .remaining = parse_number_expression("r[2]"),
                         .retry_after = parse_wait_expression("r[3] s"),
                         .reset_after = parse_wait_expression("r[4] - now_ms ms")};
  CHECK(reader.decision("{1, '4.9', -1, 1000250}", all) ==
        Decision{.allowed = true, .remaining = 4, .reset_after = 250ms});
  CHECK(reader.decision("{0, 0, '0.25', 1000000}", all) ==
        Decision{.remaining = 0, .retry_after = 250ms});
  CHECK(reader.decision("{0, -3, -1, 5}", all) == Decision{.remaining = 0, .retry_after = kNever});
  CHECK(reader.decision("{0}", all) ==
        Decision{.remaining = kNotTold, .retry_after = kTimeNotTold, .reset_after = kTimeNotTold});
  CHECK(reader.decision("{0, 1, '-0.000002'}", all).retry_after == kNever);
  CHECK(reader.decision("{1, '1e30'}", all).remaining == rlctl::limiter::kLargestProduct);
  CHECK(reader.complaint("{1, 'x'}", all) ==
        "x.lua replied [1, 'x'], but --remaining 'r[2]' expects a number at column 1");
  CHECK(reader.complaint("{0, 1, 'x'}", all).find("--retry-after 'r[3] s' expects a number") !=
        std::string::npos);
  CHECK(reader.complaint("{0, 1, '1e30'}", all).find("expects a shorter time") !=
        std::string::npos);
  CHECK(reader.complaint("{1, 1, 'x', 'y'}", all).find("--reset-after") != std::string::npos);
}

TEST_CASE("reply reading: names are spelled as on the command line, and the default is first") {
  CHECK(named_conditions().front().name == "nonzero");
  CHECK(ReplyReading{}.allowed_when.named == &named_conditions().front());
  for (const auto& row : named_conditions()) CHECK(parse_allowed_when(row.name).named == &row);
  CHECK(parse_allowed_when("r == nil").named == nullptr);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_allowed_when("non-zero")),
                       "'non-zero' is not a condition; did you mean 'nonzero'?", UsageError);
  CHECK_THROWS_AS(static_cast<void>(parse_allowed_when("")), UsageError);
  // It would allow every request, or none.
  for (const auto* constant : {"true", "1", "limit > 1"}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(parse_allowed_when(constant)),
                         fmt::format("'{}' does not depend on the reply r", constant).c_str(),
                         UsageError);
  }
  try {
    static_cast<void>(parse_allowed_when("r[1"));
  } catch (const UsageError& error) {
    CHECK(error.hint() ==
          "it is nonzero, zero, nil, <=limit or always, or an expression such as 'r[1] > 0'");
  }
  CHECK(parse_delay_unit("s") == 1s);
  CHECK(parse_delay_unit("ms") == 1ms);
  CHECK(parse_delay_unit("us") == 1us);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_delay_unit("m")),
                       "the unit of a wait is s, ms or us, not 'm'", UsageError);
}

TEST_CASE("reply reading: a count, or a number that must be nonzero, cannot be a wait") {
  CHECK_THROWS_AS(require_usable(reading("nonzero", 1s)), UsageError);
  CHECK_THROWS_AS(require_usable(reading("<=limit", 1s)), UsageError);
  CHECK_NOTHROW(require_usable(reading("<=limit")));
  CHECK_NOTHROW(require_usable(reading("zero", 1s)));
  CHECK_NOTHROW(require_usable(reading("nil", 1s)));
  CHECK_NOTHROW(require_usable(reading("always", 1s)));
}

TEST_CASE("reply reading: a wait is read in one way only") {
  auto both = reading("zero", 1s);
  both.retry_after = parse_wait_expression("r s");
  CHECK_THROWS_WITH_AS(
      require_usable(both),
      "--delay-unit and --retry-after cannot be combined: both say which wait the reply has",
      UsageError);
  CHECK_THROWS_AS(require_usable(reading("r > 0", 1s)), UsageError);
  auto odd = reading("r <= window_s");
  CHECK_NOTHROW(require_usable(odd, {5, 60s, {}}));
  CHECK_THROWS_AS(require_usable(odd, {5, 1500ms, {}}), UsageError);
}

}  // namespace traffic_reply_reading_test
