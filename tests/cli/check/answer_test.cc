#include "cli/server/answer.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/server/asker.h"
#include "limiter/algorithm.h"
#include "support/json_record.h"

namespace rlctl::cli::answer_test {
namespace {

using std::chrono::microseconds;

Limiter limiter_of(std::string_view algorithm, const std::vector<std::string>& limits) {
  Limiter limiter{.algorithm = limiter::find_algorithm(algorithm), .limits = {}};
  for (const auto& limit : limits) limiter.limits.push_back(limiter::parse_limit(limit));
  return limiter;
}

std::string line(const Limiter& limiter, const Answer& answer, bool json = false) {
  std::string out;
  AnswerFormat(limiter, json).append(out, answer);
  return json ? recorded("check", std::move(out)) : out;
}

std::string seconds(std::int64_t us) {
  std::string out;
  append_seconds(out, microseconds{us});
  return out;
}

}  // namespace

TEST_CASE("answer: seconds are rounded up, so that nobody retries too early") {
  CHECK(seconds(0) == "0.000s");
  CHECK(seconds(1) == "0.001s");
  CHECK(seconds(999'001) == "1.000s");
  CHECK(seconds(12'040'001) == "12.041s");
  CHECK(seconds(60'000'000) == "60.000s");
}

TEST_CASE("answer: allowed and denied results in text") {
  const auto limiter = limiter_of("sliding-window-log", {"5/60s"});
  const std::vector<std::string> keys{"login:ann"};
  Answer answer{.key = "login:ann", .redis_keys = keys};
  answer.decision = {.allowed = true, .remaining = 4, .reset_after = microseconds{60'000'000}};
  CHECK(line(limiter, answer) == "allowed key=login:ann limit=5/60s remaining=4 reset=60.000s\n");
  answer.decision = {.retry_after = microseconds{12'040'123},
                     .reset_after = microseconds{59'309'001},
                     .denied_by = 1};
  CHECK(line(limiter, answer) ==
        "denied key=login:ann limit=5/60s remaining=0 retry_after=12.041s reset=59.310s\n");
  answer.decision.retry_after = limiter::kNever;
  CHECK(line(limiter, answer) ==
        "denied key=login:ann limit=5/60s remaining=0 retry_after=never reset=59.310s\n");
  answer.peek = true;
  CHECK(line(limiter, answer) ==
        "denied key=login:ann limit=5/60s remaining=0 retry_after=never reset=59.310s\n");
  answer.decision.retry_after = {};
  CHECK(line(limiter, answer) == "denied key=login:ann limit=5/60s remaining=0 reset=59.310s\n");
}

TEST_CASE("answer: with several limits the key that denied is named") {
  const auto limiter = limiter_of("sliding-window-log", {"10/1s", "100/60s"});
  const std::vector<std::string> keys{"{a b}:1s", "{a b}:60s"};
  Answer answer{.key = "a b", .redis_keys = keys};
  answer.decision = {
      .retry_after = microseconds{1}, .reset_after = microseconds{1}, .denied_by = 2};
  CHECK(line(limiter, answer) ==
        "denied key=a\\x20b limit=10/1s,100/60s remaining=0 retry_after=0.001s reset=0.001s "
        "denied_by={a\\x20b}:60s\n");
}

TEST_CASE("answer: leaky-bucket's delay is shown, and its burst in JSON") {
  const auto limiter = limiter_of("leaky-bucket", {"5/1s"});
  const std::vector<std::string> keys{"k"};
  Answer answer{.key = "k", .redis_keys = keys};
  answer.decision = {.allowed = true,
                     .remaining = 3,
                     .reset_after = microseconds{400'000},
                     .delay = microseconds{200'000}};
  CHECK(line(limiter, answer) ==
        "allowed key=k limit=5/1s algorithm=leaky-bucket remaining=3 reset=0.400s delay=0.200s\n");
  CHECK(line(limiter, answer, true) ==
        R"({"key":"k","algorithm":"leaky-bucket","allowed":true,"cost":1,"remaining":3,)"
        R"("retry_after_us":0,"reset_after_us":400000,"delay_us":200000,)"
        R"("limits":[{"key":"k","limit":5,"window_us":1000000,"burst":5}],"denied_by":null})"
        "\n");
}

TEST_CASE("answer: unknown values are null") {
  const auto limiter = limiter_of("fixed-window", {"5/60s"});
  const std::vector<std::string> keys{"k"};
  Answer answer{.key = "k", .redis_keys = keys, .cost = 2, .peek = true};
  answer.decision = {.denied_by = 1};
  CHECK(line(limiter, answer, true) ==
        R"({"key":"k","algorithm":"fixed-window","allowed":false,"cost":2,"remaining":0,)"
        R"("retry_after_us":null,"reset_after_us":0,"delay_us":0,)"
        R"("limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":"k"})"
        "\n");
  const Problem problem{
      .status = ExitStatus::kUnreachable, .code = "timeout", .message = "no answer"};
  answer = {.key = "k", .redis_keys = keys, .on_error = &problem};
  answer.decision.allowed = true;
  CHECK(line(limiter, answer) ==
        "allowed key=k limit=5/60s algorithm=fixed-window on_error=allow\n");
  CHECK(line(limiter, answer, true) ==
        R"({"key":"k","algorithm":"fixed-window","allowed":true,"cost":1,"remaining":null,)"
        R"("retry_after_us":null,"reset_after_us":null,"delay_us":null,)"
        R"("limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":null,)"
        R"("error":{"code":"timeout","message":"no answer","hint":null}})"
        "\n");
}

TEST_CASE("answer: an error in a batch takes the place of its answer") {
  const auto limiter = limiter_of("fixed-window", {"5/60s"});
  const Problem problem{.code = "usage", .message = "cost 'x' is \"bad\"\n"};
  std::string text;
  AnswerFormat(limiter, false).append_error(text, 17, problem);
  CHECK(text == "error line=17 status=2 message=\"cost 'x' is \\\"bad\\\"\\n\"\n");
  std::string json;
  AnswerFormat(limiter, true).append_error(json, 17, problem);
  CHECK(recorded("check", json) ==
        "{\"line\":17,\"error\":{\"code\":\"usage\",\"message\":\"cost 'x' is \\\"bad\\\"\\n\","
        "\"hint\":null}}\n");
}

}  // namespace rlctl::cli::answer_test
