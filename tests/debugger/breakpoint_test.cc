#include "debugger/breakpoint.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace debugger_breakpoint_test {

using rlctl::UsageError;
using namespace rlctl::debugger;
using rlctl::lua::Value;

TEST_CASE("a hit count accepts the hits that it names") {
  static constexpr std::pair<const char*, const char*> kAccepted[] = {
      {"3", "00111111"},  {">=3", "00111111"}, {"> 3", "00011111"}, {"==3", "00100000"},
      {"=3", "00100000"}, {"<3", "11000000"},  {"<=3", "11100000"}, {" % 3 ", "00100100"},
  };
  for (const auto& one : kAccepted) {
    CAPTURE(one.first);
    const HitCondition condition(one.first);
    std::string accepted;
    for (int hit = 1; hit <= 8; ++hit) accepted += condition.accepts(hit) ? '1' : '0';
    CHECK(accepted == one.second);
  }
}

TEST_CASE("what is no hit count is refused") {
  for (const auto* text :
       {"", " ", "0", "-1", "x", ">", "5>", "=>5", "5.5", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(static_cast<void>(HitCondition(text)), UsageError);
  }
}

TEST_CASE("a message has the values of its expressions, strings without quotes") {
  const LogMessage message("{i}: {t[{'}'}]} of {\"\\\"}\"}}");
  CHECK(message.expressions() == std::vector<std::string>{"i", "t[{'}'}]", "\"\\\"}\""});
  const Value number{.kind = Value::Kind::kNumber, .number = 1700000000123456};
  const Value text{.kind = Value::Kind::kString, .text = "a b"};
  CHECK(message.text({number, text}) == "1700000000123456: a b of nil}");
  CHECK(LogMessage("").text({}).empty());
  CHECK(LogMessage("}").text({}) == "}");
  for (const auto* wrong : {"{", "a {b", "{}", "{ }", "{'}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(static_cast<void>(LogMessage(wrong)), UsageError);
  }
}

}  // namespace debugger_breakpoint_test
