#include "base/time.h"

#include <doctest/doctest.h>

namespace rlctl::duration_text_test {

using namespace std::chrono;

TEST_CASE("duration text: a wait is rounded up, an age is rounded down") {
  CHECK(wait_text(microseconds{0}) == "0.000 s");
  CHECK(wait_text(microseconds{-5}) == "0.000 s");
  CHECK(wait_text(microseconds{-50'000}) == "0.000 s");
  CHECK(wait_text(microseconds{1}) == "0.001 ms");
  CHECK(wait_text(microseconds{9'999}) == "9.999 ms");
  CHECK(wait_text(milliseconds{10}) == "0.010 s");
  CHECK(wait_text(microseconds{12'040'001}) == "12.041 s");
  CHECK(wait_text(microseconds{12'040'999}, Rounding::kDown) == "12.040 s");
  CHECK(wait_text(microseconds{1}, Rounding::kDown) == "0.001 ms");
}

TEST_CASE("duration text: ten minutes or more are shown in hours, minutes and seconds") {
  CHECK(wait_text(microseconds{599'999'000}) == "599.999 s");
  CHECK(wait_text(microseconds{599'999'001}) == "10m0s");
  CHECK(wait_text(seconds{601}) == "10m1s");
  CHECK(wait_text(hours{1} + microseconds{1}) == "1h0m1s");
  CHECK(wait_text(hours{23} + minutes{59} + seconds{59}) == "23h59m59s");
  CHECK(wait_text(days{1} - microseconds{1}) == "1d0h0m");
  CHECK(wait_text(days{3} + seconds{1}) == "3d0h1m");
  CHECK(wait_text(microseconds{599'999'999}, Rounding::kDown) == "599.999 s");
  CHECK(wait_text(hours{1} + milliseconds{999}, Rounding::kDown) == "1h0m0s");
  CHECK(wait_text(days{3} + seconds{59}, Rounding::kDown) == "3d0h0m");
}

TEST_CASE("duration text: a TTL is shown in tenths of a second") {
  CHECK(wait_text(milliseconds{0}, Rounding::kTenths) == "0.0 s");
  CHECK(wait_text(milliseconds{59'310}, Rounding::kTenths) == "59.3 s");
  CHECK(wait_text(milliseconds{599'999}, Rounding::kTenths) == "599.9 s");
  CHECK(wait_text(minutes{61}, Rounding::kTenths) == "1h1m0s");
}

TEST_CASE("duration text: a period is shown in one unit, an instant without trailing zeros") {
  CHECK(period_text(seconds{60}) == "60 s");
  CHECK(period_text(minutes{90}) == "90 min");
  CHECK(period_text(milliseconds{1'500}) == "1500 ms");
  CHECK(period_text(days{30}) == "30 d");
  CHECK(period_text(microseconds{1}) == "1 µs");
  CHECK(instant_text(seconds{1'795'155'123}) == "2026-11-20T06:12:03Z");
  CHECK(instant_text(microseconds{1'795'155'123'100'000}) == "2026-11-20T06:12:03.100000Z");
}

TEST_CASE("duration text: an elapsed time has four digits") {
  CHECK(span_text(microseconds{0}) == "0 µs");
  CHECK(span_text(microseconds{999}) == "999 µs");
  CHECK(span_text(microseconds{1'000}) == "1 ms");
  CHECK(span_text(microseconds{19'990}) == "19.99 ms");
  CHECK(span_text(microseconds{638'312}) == "638.3 ms");
  CHECK(span_text(milliseconds{1'500}) == "1.5 s");
  CHECK(span_text(microseconds{59'970'000}) == "59.97 s");
  CHECK(span_text(minutes{10}) == "10m");
  CHECK(span_text(minutes{10} + milliseconds{1'600}) == "10m2s");
  CHECK(span_text(hours{2}) == "2h");
  CHECK(span_text(hours{2} + seconds{3}) == "2h0m3s");
  CHECK(span_text(days{1} - milliseconds{1}) == "1d");
  CHECK(span_text(days{2} + hours{4} + minutes{31}) == "2d5h");
  CHECK(span_text(days{9} + hours{23} + minutes{59}) == "10d");
  CHECK(span_text(days{1157} + hours{9} + minutes{46}) == "1157d");
}

TEST_CASE("duration text: a latency has three digits") {
  CHECK(latency_text(nanoseconds{0}) == "0.00 µs");
  CHECK(latency_text(nanoseconds{9'994}) == "9.99 µs");
  CHECK(latency_text(nanoseconds{9'996}) == "10.0 µs");
  CHECK(latency_text(microseconds{87}) == "87.0 µs");
  CHECK(latency_text(nanoseconds{999'400}) == "999 µs");
  CHECK(latency_text(nanoseconds{999'600}) == "1.00 ms");
  CHECK(latency_text(microseconds{12'345}) == "12.3 ms");
  CHECK(latency_text(milliseconds{1'200}) == "1.20 s");
  CHECK(latency_text(minutes{10}) == "600 s");
}

TEST_CASE("duration: a micro sign and a Greek letter are accepted as u") {
  for (const auto* text : {"250us", "250µs", "250\u03bcs"}) {
    CHECK(parse_duration(text) == microseconds{250});
  }
  CHECK(parse_duration("1ms250µs") == microseconds{1'250});
  CHECK(format_duration(parse_duration("250µs")) == "250us");
}

TEST_CASE("duration text: seconds as a decimal number, and rounded up to whole ones") {
  CHECK(decimal_seconds(60s) == "60");
  CHECK(decimal_seconds(250ms) == "0.25");
  CHECK(decimal_seconds(1'767'225'660'000'001us) == "1767225660.000001");
  CHECK(decimal_seconds(0us) == "0");
  CHECK(decimal_seconds(100s) == "100");
  CHECK(whole_seconds(1us) == 1s);
  CHECK(whole_seconds(60s) == 60s);
  CHECK(whole_seconds(60s + 1us) == 61s);
  CHECK(whole_seconds(-5s) == 0s);
}

TEST_CASE("duration text: an offset from an origin has a sign") {
  CHECK(offset_text(microseconds{0}) == "0");
  CHECK(offset_text(milliseconds{10}) == "+10 ms");
  CHECK(offset_text(milliseconds{-10}) == "-10 ms");
}

}  // namespace rlctl::duration_text_test
