#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "limiter/limit.h"

namespace base_instant_test {

using namespace rlctl;
using namespace std::chrono_literals;

TEST_CASE("a whole number is read as microseconds since 1970") {
  CHECK(parse_instant("0") == 0us);
  CHECK(parse_instant("1700000000123456") == 1700000000123456us);
  CHECK(parse_instant("4000000000000000") == 4000000000000000us);
  CHECK(parse_instant("007") == 7us);
}

// Its other spellings are in tests/replay/time_text_test.cc.
TEST_CASE("ISO 8601 is read in its zone, with seconds and their fraction or without") {
  CHECK(parse_instant("2026-11-20T06:11:15.155201Z") == 1795155075155201us);
  CHECK(parse_instant("2026-11-20T00:41:15.155201-05:30") == 1795155075155201us);
  CHECK(parse_instant("2026/11/20 06:11:15,1 GMT") == 1795155075100000us);
  CHECK(parse_instant("2026-11-20T06:11:15.000001Z") == 1795155075000001us);
  CHECK(parse_instant("2026-11-20T06:11:60Z") == 1795155120000000us);
  CHECK(parse_instant("2026-11-20T06:11Z") == 1795155060000000us);
  CHECK(parse_instant("1970-01-01T01:00+01:00") == 0us);
  CHECK(parse_instant("2000-02-29T00:00Z") == 951782400000000us);
}

TEST_CASE("an invalid instant is an error that gives the reason") {
  CHECK_THROWS_WITH_AS((void)parse_instant("2026-11-20T06:11:15"),
                       "'2026-11-20T06:11:15' has no zone; write whole microseconds since 1970, or "
                       "ISO 8601 with a zone such as 2026-11-20T06:11:15.155201Z",
                       UsageError);
  std::istringstream words(
      "-1 +1 1e15 1.5 0x10 now 2026-11-20 2026-11-20Z 2026-11-20T06Z 2026-11-20T06:11 "
      "2026-11-20T06:11:15.1552011Z 2026-11-20T24:00:00Z 2026-02-29T00:00Z "
      "2026-11-20T06:11:15+24:00 2026-11-20T06:11:15Zx -2026-11-20T06:11:15Z");
  for (std::string text; words >> text;) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_instant(text), UsageError);
  }
  for (const auto* text : {"", " 1", "2026-11-20T06:11:15 "}) {
    CAPTURE(text);
    CHECK_THROWS_AS((void)parse_instant(text), UsageError);
  }
}

TEST_CASE("instants end at the contract's limit") {
  CHECK_THROWS_WITH_AS((void)parse_instant("4000000000000001"),
                       "'4000000000000001' is out of range; it must be from 1970 to "
                       "2096-10-02T07:06:40.000000Z (4000000000000000 us)",
                       UsageError);
  CHECK(parse_instant("2096-10-02T07:06:40Z") == 4000000000000000us);
  CHECK_THROWS_AS((void)parse_instant("2096-10-02T07:06:40.000001Z"), UsageError);
  CHECK_THROWS_AS((void)parse_instant("1969-12-31T23:59:59.999999Z"), UsageError);
  CHECK_THROWS_AS((void)parse_instant("1970-01-01T00:00+00:01"), UsageError);
  CHECK_THROWS_AS((void)parse_instant("9999-12-31T00:00Z"), UsageError);
  CHECK_THROWS_AS((void)parse_instant("99999999999999999999"), UsageError);
}

TEST_CASE("an instant is written in UTC with six decimals and reads back unchanged") {
  CHECK(format_instant(1795155075155201us) == "2026-11-20T06:11:15.155201Z");
  CHECK(format_instant(0us) == "1970-01-01T00:00:00.000000Z");
  CHECK(format_instant(-1us) == "1969-12-31T23:59:59.999999Z");
  for (microseconds instant{0}; instant <= 4000000000000000us; instant += 12345678901234us) {
    CHECK(parse_instant(format_instant(instant)) == instant);
  }
}

}  // namespace base_instant_test
