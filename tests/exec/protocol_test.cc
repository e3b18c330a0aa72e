#include "exec/protocol.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "limiter/limit.h"
#include "support/refusal.h"

namespace exec_protocol_test {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using namespace rlctl;
using namespace rlctl::exec;
using namespace rlctl::test;
using namespace std::string_view_literals;

namespace {

std::string written(const limiter::Limit& limit, const RequestLine& request) {
  std::string out;
  RequestWriter(limit).append(out, request);
  return out;
}

/// Why a line is no answer.
std::string wrong(std::string_view line) {
  return refusal_of([&] { return read_answer(line, 1s); });
}

}  // namespace

TEST_CASE("a request is a line whose members have one order") {
  CHECK(written({.limit = 5, .window = 60s},
                {.now = 1'767'225'600'000'000us, .key = "k", .cost = 1, .id = 7}) ==
        R"({"now_us":1767225600000000,"key":"k","cost":1,"id":7,"limit":5,"window_us":60000000,)"
        R"("burst":5})"
        "\n");
  CHECK(written({.limit = 5, .window = 1ms, .burst = 2}, {.key = "", .cost = -3}) ==
        R"({"now_us":0,"key":"","cost":-3,"id":1,"limit":5,"window_us":1000,"burst":2})"
        "\n");
}

TEST_CASE("a request about a reservation has its ID, its units, and the hold or the actual cost") {
  const limiter::Limit limit{.limit = 5, .window = 30s};
  CHECK(written(limit, {.now = 1us,
                        .key = "k",
                        .cost = 3,
                        .id = 7,
                        .event = "reserve",
                        .reservation = "r17",
                        .hold = 2s}) ==
        R"({"now_us":1,"key":"k","event":"reserve","reservation":"r17","units":3,)"
        R"("hold_us":2000000,"id":7,"limit":5,"window_us":30000000,"burst":5})"
        "\n");
  CHECK(written(limit, {.now = 1us,
                        .key = "k",
                        .cost = 3,
                        .id = 8,
                        .event = "settle",
                        .reservation = "r17",
                        .actual = 0,
                        .hold = 2s}) ==
        R"({"now_us":1,"key":"k","event":"settle","reservation":"r17","units":3,)"
        R"("actual":0,"id":8,"limit":5,"window_us":30000000,"burst":5})"
        "\n");
}

TEST_CASE("a request about a lease has its event and its holder, and the duration of the lease") {
  CHECK(written({.limit = 5, .window = 30s},
                {.now = 1us, .key = "k", .id = 7, .event = "release", .holder = "h17"}) ==
        R"({"now_us":1,"key":"k","event":"release","holder":"h17","id":7,"limit":5,)"
        R"("lease_us":30000000})"
        "\n");
}

TEST_CASE(
    "a key with any bytes is one line of JSON in UTF-8, with its bytes in base64 if need be") {
  const auto key = [](std::string_view bytes) {
    const auto line = written({.limit = 1, .window = 1s}, {.key = bytes});
    CHECK(line.find('\n') == line.size() - 1);
    const auto begin = line.find("\"key\"");
    return line.substr(begin, line.find(",\"cost\"") - begin);
  };
  CHECK(key("a\"b\\c\n\r\t/") == R"("key":"a\"b\\c\n\r\t/")");
  CHECK(key("\0\x1f\x7f"sv) == R"("key":"\u0000\u001f\u007f")");
  CHECK(key("ä日😀") == "\"key\":\"ä日😀\"");
  CHECK(key("a\xff") == R"("key":"a\\xff","key_base64":"Yf8=")");
}

TEST_CASE("an answer says whether the request is allowed, and more if it wants to") {
  for (const auto line : {"1", "{\"allowed\":true}", " { \"allowed\" : true , \"x\" : [{}] } "}) {
    CAPTURE(line);
    const auto answer = read_answer(line, 1s);
    CHECK(answer.decision == limiter::Decision{.allowed = true,
                                               .remaining = limiter::kNotTold,
                                               .reset_after = limiter::kTimeNotTold});
    CHECK(!answer.pipeline);
    CHECK(!answer.id);
  }
  for (
      const auto line :
      {"0", "{\"allowed\":false}",
       R"({"allowed":false,"id":null,"remaining":null,"retry_after_us":null,"reset_after_us":null})"}) {
    CAPTURE(line);
    CHECK(read_answer(line, 1s).decision ==
          limiter::Decision{.allowed = false,
                            .remaining = limiter::kNotTold,
                            .retry_after = limiter::kTimeNotTold,
                            .reset_after = limiter::kTimeNotTold});
  }
  const auto denied = read_answer(
      R"({"allowed":false,"id":7,"remaining":0,"retry_after_us":5,"reset_after_us":6,"delay_us":7})",
      1s);
  CHECK(denied.id == 7);
  CHECK(denied.decision ==
        limiter::Decision{.allowed = false, .retry_after = 5us, .reset_after = 6us});
  const auto allowed = read_answer(
      R"({"allowed":true,"remaining":4,"retry_after_us":5,"reset_after_us":6,"delay_us":7})", 1s);
  CHECK(allowed.decision ==
        limiter::Decision{.allowed = true, .remaining = 4, .reset_after = 6us, .delay = 7us});
}

TEST_CASE("a time since 1970 is none to wait for") {
  const microseconds now{1767225600000000};
  for (const auto name : {"delay_us", "retry_after_us", "reset_after_us"}) {
    const auto line = fmt::format(R"({{"allowed":true,"{}":{}}})", name, (now + 5s).count());
    CHECK(refusal_of([&] { return read_answer(line, now); }) ==
          fmt::format("\"{}\" is 1767225605000000, a time since 1970: subtract now_us", name));
    CHECK_NOTHROW(read_answer(line, 1s));
  }
}

TEST_CASE("numbers are whole, and within bounds") {
  CHECK(read_answer(R"({"allowed":false,"retry_after_us":-1})", 1s).decision.retry_after ==
        limiter::kNever);
  CHECK(read_answer(R"({"allowed":true,"remaining":10000000000000000})", 1s).decision.remaining ==
        10'000'000'000'000'000);
  for (const auto* number :
       {"10000000000000001", "9223372036854775808", "18446744073709551616", "1e400",
        "-9223372036854775809", "1.5", "1.0", "1e3", "\"1\"", "true", "[1]", "{}"}) {
    CAPTURE(number);
    CHECK(wrong(fmt::format(R"({{"allowed":true,"remaining":{}}})", number)) != "accepted");
  }
  CHECK(read_answer(R"({"allowed":true,"remaining":-1})", 1s).decision.remaining == 0);
  CHECK(wrong(R"({"allowed":true,"id":0})") ==
        "\"id\" must be a whole number from 1 to 10000000000000000, not 0");
  CHECK(wrong(R"({"allowed":false,"retry_after_us":-2})") ==
        "\"retry_after_us\" must be a whole number from -1 to 10000000000000000, not -2");
  CHECK(wrong(R"({"allowed":true,"reset_after_us":2.5})") ==
        "\"reset_after_us\" must be a whole number from 0 to 10000000000000000, not 2.5");
  CHECK(wrong(R"({"allowed":true,"delay_us":"5"})") ==
        "\"delay_us\" must be a whole number from 0 to 10000000000000000, not \"5\"");
  CHECK(wrong(R"({"allowed":true,"id":0})") ==
        "\"id\" must be a whole number from 1 to 10000000000000000, not 0");
}

TEST_CASE("a line that is no answer is refused with the reason") {
  for (const auto line :
       {""sv, " "sv, "yes"sv, "True"sv, "{"sv, "{\"allowed\":true"sv, "{\"allowed\":true}}"sv,
        "{'allowed':true}"sv, "1 1"sv, "nan"sv, "\xff"sv, "{\"allowed\":true,\"x\":\"\xff\"}"sv,
        "1\0"sv, "{\"allowed\":true}\0"sv, "{\"allowed\":true}\0}"sv, "\0"sv}) {
    CAPTURE(std::string(line));
    CHECK(wrong(line) == "it is not JSON");
  }
  for (const auto* line : {"2", "-1", "true", "null", "\"1\"", "[]", "[1]", "1.0", "10"}) {
    CAPTURE(line);
    CHECK(wrong(line) == "it is neither an object nor 1 nor 0");
  }
  CHECK(wrong("{}") == "it has no \"allowed\"");
  CHECK(wrong(R"({"Allowed":true})") == "it has no \"allowed\"");
  for (const auto* value : {"1", "0", "\"true\"", "null", "[]"}) {
    CAPTURE(value);
    CHECK(wrong(fmt::format(R"({{"allowed":{}}})", value)) ==
          "\"allowed\" is neither true nor false");
  }
  constexpr auto* kTooDeep = "it is nested too deeply: 100 levels are the most";
  CHECK(wrong(std::string(kLongestAnswer, '[')) == kTooDeep);
  const std::string half(kLongestAnswer / 2, '['), other_half(kLongestAnswer / 2, ']');
  CHECK(wrong(half + other_half) == kTooDeep);
  // A message shows the member, and prints it recursively.
  CHECK(wrong(R"({"allowed":true,"id":)" + half + other_half + "}") == kTooDeep);
  const std::string most(99, '['), most_ends(99, ']');
  CHECK(wrong(R"({"allowed":true,"id":)" + most + most_ends + "}") ==
        "\"id\" must be a whole number from 1 to 10000000000000000, not " + std::string(60, '[') +
            "...");
}

TEST_CASE("a hello says how many requests may be in flight") {
  CHECK(read_answer(R"({"hello":{}})", 1s).pipeline == 1);
  CHECK(read_answer(R"({"hello":{"pipeline":null,"x":1},"x":1})", 1s).pipeline == 1);
  CHECK(read_answer(R"({"hello":{"pipeline":4096}})", 1s).pipeline == 4096);
  CHECK(wrong(R"({"hello":1})") == "\"hello\" is not an object");
  CHECK(wrong(R"({"hello":null})") == "\"hello\" is not an object");
  for (const auto* pipeline : {"0", "-1", "4097", "1000000000", "1e2", "2.5", "\"2\""}) {
    CAPTURE(pipeline);
    CHECK(wrong(fmt::format(R"({{"hello":{{"pipeline":{}}}}})", pipeline))
              .starts_with("\"pipeline\" must be a whole number from 1 to 4096, not "));
  }
}

}  // namespace exec_protocol_test
