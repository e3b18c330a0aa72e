#include "replay/time_text.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "limiter/limit.h"
#include "support/random.h"

using namespace std::chrono_literals;

namespace rlctl::replay::time_text_test {
namespace {

std::optional<microseconds> read(std::string_view text, EpochUnit unit = EpochUnit::kByMagnitude) {
  return TimeReader(unit).read(text);
}

constexpr microseconds kInstant{1795155075000000};  // 2026-11-20T06:11:15Z

}  // namespace

TEST_CASE("the time in an access log is read in its zone") {
  CHECK(read("20/Nov/2026:06:11:15 +0000") == kInstant);
  CHECK(read("20/Nov/2026:07:11:15 +0100") == kInstant);
  CHECK(read("19/Nov/2026:22:11:15 -0800") == kInstant);
  CHECK(read("20/Nov/2026:11:56:15 +0545") == kInstant);
  CHECK(read("20/nov/2026:06:11:15 +0000") == kInstant);
  CHECK(read("20/Nov/2026:06:11:15.123456 +0000") == kInstant + 123456us);
  CHECK(read("20/Nov/2026:06:11:15,5") == kInstant + 500ms);
  CHECK(read("20/Nov/2026:06:11:15") == kInstant);
  CHECK(read("20/Nov/2026:06:11:60 +0000") == kInstant + 45s);
  CHECK(read("20/Nov/2026 06:11:15 +0000") == kInstant);
  CHECK(read("20-Nov-2026 06:11:15.5") == kInstant + 500ms);
}

TEST_CASE("ISO 8601 is read in its common spellings") {
  for (const auto* text :
       {"2026-11-20T06:11:15Z", "2026-11-20t06:11:15z", "2026-11-20 06:11:15",
        "2026-11-20 06:11:15 UTC", "2026-11-20 06:11:15 GMT", "2026-11-20T06:11:15+00:00",
        "2026-11-20T06:11:15-00:00", "2026-11-20 07:11:15 +0100", "2026-11-20T07:11:15+01",
        "2026-11-20T00:41:15-05:30", "2026/11/20 06:11:15", "20261120T061115Z",
        "2026-11-20T06:11:15.0000009Z", "2026-11-20T06:11:15.000000999999999999999999999Z"}) {
    CAPTURE(text);
    CHECK(read(text) == kInstant);
  }
  CHECK(read("2026-11-20T06:11:15.1Z") == kInstant + 100ms);
  CHECK(read("2026-11-20T06:11:15,123+00:00") == kInstant + 123ms);
  CHECK(read("2026-11-20T06:11:15.123456789") == kInstant + 123456us);
  CHECK(read("2026-11-20T06:11Z") == kInstant - 15s);
  CHECK(read("20261120T0611Z") == kInstant - 15s);
}

TEST_CASE("the repeated hour in autumn is distinguished by its zone") {
  CHECK(*read("25/Oct/2026:02:30:00 +0100") - *read("25/Oct/2026:02:30:00 +0200") == 1h);
  CHECK(*read("2026-10-25T02:30:00+01:00") - *read("2026-10-25T02:30:00+02:00") == 1h);
}

TEST_CASE("leap days follow the calendar") {
  CHECK(*read("01/Mar/2024:00:00:00 +0000") - *read("28/Feb/2024:00:00:00 +0000") == 48h);
  CHECK(*read("01/Mar/2000:00:00:00 +0000") - *read("28/Feb/2000:00:00:00 +0000") == 48h);
  CHECK(!read("29/Feb/2026:00:00:00 +0000"));
  CHECK(!read("29/Feb/2100:00:00:00 +0000"));
  CHECK(!read("2026-02-29T00:00:00Z"));
}

TEST_CASE("the size of a number determines its unit") {
  CHECK(read("0") == 0us);
  CHECK(read("1795155075") == kInstant);
  CHECK(read("1795155075000") == kInstant);
  CHECK(read("1795155075000000") == kInstant);
  CHECK(read("1795155075000000999") == kInstant);
  CHECK(read("99999999999") == 99999999999000000us);
  CHECK(read("100000000000") == 100000000s);
  CHECK(read("99999999999999") == 99999999999999ms);
  CHECK(read("100000000000000") == 100000000s);
  CHECK(read("99999999999999999") == 99999999999999999us);
  CHECK(read("100000000000000000") == 100000000s);
}

TEST_CASE("a number may have an exponent") {
  CHECK(read("1.795155075e9") == kInstant);
  CHECK(read("1795155075e0") == kInstant);
  CHECK(read("17951550750E+5") == kInstant);
  CHECK(read("1.795155075000001E9") == kInstant + 1us);
  CHECK(!read("1.795155075e"));
  CHECK(!read("1795155075e-1"));
  CHECK(!read("e9"));
  CHECK(!read("1e31"));
  CHECK(!read("1e9.5"));
}

TEST_CASE("the digits of a fraction are exact, however many there are") {
  CHECK(read("1795155075.000001") == kInstant + 1us);
  CHECK(read("1795155075.9999999999999999999999999") == kInstant + 999999us);
  CHECK(read("1795155075,5") == kInstant + 500ms);
  CHECK(read("1795155075000.25") == kInstant + 250us);
  CHECK(read("1795155075000.0259") == kInstant + 25us);
  CHECK(read("1795155075000000.9") == kInstant);
  CHECK(read("1795155075000000999.9") == kInstant);
}

TEST_CASE("a known unit is not guessed") {
  CHECK(read("17", EpochUnit::kMicroseconds) == 17us);
  CHECK(read("17", EpochUnit::kMilliseconds) == 17ms);
  CHECK(read("17.25", EpochUnit::kMilliseconds) == 17250us);
  CHECK(read("17999", EpochUnit::kNanoseconds) == 17us);
  CHECK(read("2026-11-20T06:11:15Z", EpochUnit::kMicroseconds) == kInstant);
  CHECK(epoch_unit_of("at_us") == EpochUnit::kMicroseconds);
  CHECK(epoch_unit_of("time_ms") == EpochUnit::kMilliseconds);
  CHECK(epoch_unit_of("t_ns") == EpochUnit::kNanoseconds);
  CHECK(epoch_unit_of("status") == EpochUnit::kByMagnitude);
}

TEST_CASE("a time out of range stays out of range") {
  CHECK(read("99999999999999999999999999999999")->count() > 4'000'000'000'000'000);
  CHECK(read("9223372036854775807", EpochUnit::kMilliseconds) == microseconds::max());
  CHECK(read("-1")->count() < 0);
  CHECK(read("-0.5")->count() < 0);
  CHECK(read("-9223372036854775807", EpochUnit::kMilliseconds)->count() < 0);
  CHECK(read("31/Dec/1969:23:59:59 +0000") == -1s);
  CHECK(read("9999-12-31T23:59:59Z")->count() > 4'000'000'000'000'000);
  CHECK(read("0000-01-01T00:00:00Z")->count() < 0);
}

TEST_CASE("text that is not a time is refused") {
  std::istringstream words(
      "- +1 1. .5 1.5.5 1e 0x10 nan now --1 2026-11-20 2026-11-20T 2026-11-20T06 2026-11-20T06:1 "
      "2026-11-20T06:11: 2026-11-20T06:11:1 2026-11-20T06:11:15. 2026-11-20T06:11:15.Z "
      "2026-11-20T06:11:15Zx 2026-11-20T06:11:15+ 2026-11-20T06:11:15+1 2026-11-20T06:11:15+01:0 "
      "2026-11-20T06:11:15+24:00 2026-11-20T06:11:15+01:60 2026-11-20T24:00:00Z "
      "2026-11-20T06:60:00Z 2026-11-20T06:11:61Z 2026-13-20T06:11:15Z 2026-00-20T06:11:15Z "
      "2026-11-31T06:11:15Z 2026-11-00T06:11:15Z 2026-11/20T06:11:15Z 2026-1-2T06:11:15Z");
  for (std::string text; words >> text;) {
    CAPTURE(text);
    CHECK(!read(text));
  }
  for (const auto* text :
       {"", " 1", "1 ", "2026-11-20T06:11:15 ", "20/Nov/2026:06:11:15 +000",
        "20/Nov/2026:06:11:15 +00000", "20/Nov/2026:06:11:61 +0000", "20/Nov/2026:06:11:1x +0000",
        "20/Now/2026:06:11:15 +0000", "31/Nov/2026:06:11:15 +0000", "00/Nov/2026:06:11:15 +0000",
        "20/11/2026:06:11:15 +0000", "20/anf/2026:06:11:15 +0000", "1/Nov/2026:06:11:15 +0000"}) {
    CAPTURE(text);
    CHECK(!read(text));
  }
}

TEST_CASE("a time is read the same whatever was read before it") {
  test::Random random;
  constexpr const char* kMonths[] = {"Jan", "Feb", "Feb", "Dec"};
  constexpr const char* kZones[] = {"+0000", "+0100", "-0100", "+0930", "+9900"};
  TimeReader reader;
  const auto two = [&](int most) {
    auto text = std::to_string(random.uniform(0, most));
    return text.size() < 2 ? "0" + text : text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto text = (random.percent(98) ? std::string("1") : std::string("2")) +
                      std::to_string(random.uniform(8, 9)) + "/" + random.one_of(kMonths) +
                      "/2024:00:0" + std::to_string(random.uniform(0, 1)) + ":" + two(63) + " " +
                      random.one_of(kZones);
    CAPTURE(text);
    CHECK(reader.read(text) == read(text));
  }
}

TEST_CASE("an instant written by rlctl is read back unchanged") {
  test::Random random;
  for (int i = 0; i < 2'000; ++i) {
    const microseconds at{random.uniform(0, 4'000'000'000'000'000)};
    CHECK(read(format_instant(at)) == at);
    CHECK(read(std::to_string(at.count()), EpochUnit::kMicroseconds) == at);
  }
}

}  // namespace rlctl::replay::time_text_test
