#include "traffic/script.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "limiter/limit.h"
#include "redis/error.h"
#include "support/limiters.h"

namespace traffic_reply_reading_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;
using rlctl::UsageError;
using rlctl::limiter::kNever;
using rlctl::limiter::kNotTold;
using rlctl::redis::Error;
using rlctl::redis::Failure;

namespace {

constexpr auto kUnread = "unreadable";

/// The decision read from the reply of a Lua expression, with a limit of 5.
class Reader {
 public:
  Decision decision(const std::string& lua, const ReplyReading& reading) {
    return read_reply(server_.eval("return " + lua, {}, {}), reading, 5, "x.lua");
  }
  std::string allows(const std::string& lua, AllowedWhen when) {
    try {
      return decision(lua, {.allowed_when = when}).allowed ? "allowed" : "denied";
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::kRejected);
      return kUnread;
    }
  }
  std::string text(const std::string& lua) {
    return reply_text(server_.eval("return " + lua, {}, {}));
  }
  std::string complaint(const std::string& lua, const ReplyReading& reading) {
    try {
      static_cast<void>(decision(lua, reading));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
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
  for (const auto& [lua, nonzero, zero, at_most] : std::initializer_list<Case>{
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
    const auto& expression = lua;  // CAPTURE cannot take a structured binding
    CAPTURE(expression);
    CHECK(reader.allows(lua, AllowedWhen::kNonzero) == nonzero);
    CHECK(reader.allows(lua, AllowedWhen::kZero) == zero);
    CHECK(reader.allows(lua, AllowedWhen::kAtMostLimit) == at_most);
    CHECK(reader.allows(lua, AllowedWhen::kAlways) == yes);
  }
}

TEST_CASE("reply reading: with 'nil', nil allows and anything else denies") {
  Reader reader;
  for (const std::string lua : {"nil", "false", "{false, 5}"}) {
    const auto& expression = lua;  // CAPTURE cannot take a structured binding
    CAPTURE(expression);
    CHECK(reader.allows(lua, AllowedWhen::kNil) == "allowed");
  }
  for (const std::string lua : {"1", "0", "''", "'OK'", "{1}", "{ok = 'OK'}"}) {
    const auto& expression = lua;  // CAPTURE cannot take a structured binding
    CAPTURE(expression);
    CHECK(reader.allows(lua, AllowedWhen::kNil) == "denied");
  }
  CHECK(reader.allows("{}", AllowedWhen::kNil) == kUnread);
}

TEST_CASE("reply reading: a denial promises nothing unless the reply is a wait") {
  Reader reader;
  CHECK(reader.decision("0", {}).retry_after == kNever);
  CHECK(reader.decision("0", {}).remaining == kNotTold);
  CHECK(reader.decision("0", {}).delay == 0us);
  const ReplyReading zero{AllowedWhen::kZero, 1s}, nil{AllowedWhen::kNil, 1ms};
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
  const ReplyReading seconds{AllowedWhen::kAlways, 1s};
  CHECK(reader.decision("'0.1'", seconds) ==
        Decision{.allowed = true, .remaining = kNotTold, .delay = 100ms});
  CHECK(reader.decision("7", {AllowedWhen::kAlways, 1us}).delay == 7us);
  CHECK(reader.decision("nil", seconds).delay == 0us);
  CHECK(reader.decision("'OK'", {.allowed_when = AllowedWhen::kAlways}).delay == 0us);
  for (const std::string lua : {"-1", "'-0.5'", "'1e30'", "'OK'", "{}"}) {
    const auto& expression = lua;  // CAPTURE cannot take a structured binding
    CAPTURE(expression);
    CHECK_FALSE(reader.complaint(lua, seconds).empty());
  }
}

TEST_CASE("reply reading: an unreadable reply is shown with what was expected") {
  Reader reader;
  CHECK(reader.complaint("{ok = 'OK'}", {}) ==
        "x.lua replied 'OK', but --allowed-when 'nonzero' reads a number, or true or false");
  CHECK(reader.complaint("nil", {.allowed_when = AllowedWhen::kAtMostLimit}) ==
        "x.lua replied nil, but --allowed-when '<=limit' reads a count");
  CHECK(reader.text("7") == "7");
  CHECK(reader.text("nil") == "nil");
  CHECK(reader.text("'a\\nb'") == "'a\\nb'");
  CHECK(reader.text("{1, 'x', false, {2}}") == "[1, 'x', nil, [...]]");
  CHECK(reader.text("{1, 2, 3, 4, 5, 6, 7, 8, 9}") == "[1, 2, 3, 4, 5, 6, 7, 8, ...]");
  CHECK(reader.text("string.rep('x', 1000)").size() < 100);
}

TEST_CASE("reply reading: names are spelled as on the command line, and the default is first") {
  CHECK(allowed_when_rows().front().value == AllowedWhen::kNonzero);
  for (const auto& row : allowed_when_rows()) CHECK(parse_allowed_when(row.name) == row.value);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_allowed_when("non-zero")),
                       "a script allows when its reply is nonzero, zero, nil, <=limit or always, "
                       "not 'non-zero'; did you mean 'nonzero'?",
                       UsageError);
  CHECK_THROWS_AS(static_cast<void>(parse_allowed_when("")), UsageError);
  CHECK(parse_delay_unit("s") == 1s);
  CHECK(parse_delay_unit("ms") == 1ms);
  CHECK(parse_delay_unit("us") == 1us);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_delay_unit("m")),
                       "the unit of a wait is s, ms or us, not 'm'", UsageError);
}

TEST_CASE("reply reading: a count, or a number that must be nonzero, cannot be a wait") {
  CHECK_THROWS_AS(require_usable({AllowedWhen::kNonzero, 1s}), UsageError);
  CHECK_THROWS_AS(require_usable({AllowedWhen::kAtMostLimit, 1s}), UsageError);
  CHECK_NOTHROW(require_usable({AllowedWhen::kAtMostLimit, {}}));
  CHECK_NOTHROW(require_usable({AllowedWhen::kZero, 1s}));
  CHECK_NOTHROW(require_usable({AllowedWhen::kNil, 1s}));
  CHECK_NOTHROW(require_usable({AllowedWhen::kAlways, 1s}));
}

}  // namespace traffic_reply_reading_test
