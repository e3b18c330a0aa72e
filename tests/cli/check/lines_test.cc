#include "cli/commands/check/lines.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace rlctl::cli::check::lines_test {

namespace {

/// What require_same() says about a key with limits of a minute and more.
std::string refusal(Spellings& spellings, const std::string& key) {
  const std::vector<limiter::Limit> limits{limiter::parse_limit("5/60s"),
                                           limiter::parse_limit("9/1h")};
  try {
    spellings.require_same(key, limiter::redis_keys(key, limits).front(), limits.front());
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

Problem wrong(const std::string& message) {
  return {.code = "usage", .message = message};
}

Problem lost(const std::string& message) {
  return {.status = ExitStatus::kUnreachable, .code = "unreachable", .message = message};
}

}  // namespace

TEST_CASE("lines: the other spelling of an earlier key is refused, whichever came first") {
  Spellings spellings;
  CHECK(refusal(spellings, "ann").empty());
  CHECK(refusal(spellings, "{bob}").empty());
  CHECK(refusal(spellings, "{ann}") ==
        "key '{ann}' uses the same Redis key '{ann}:60s' as 'ann' on an earlier line");
  CHECK(refusal(spellings, "bob") ==
        "key 'bob' uses the same Redis key '{bob}:60s' as '{bob}' on an earlier line");
  CHECK(refusal(spellings, "ann").empty());
  CHECK(refusal(spellings, "{bob}").empty());
}

TEST_CASE("lines: keys with a tag of their own have one spelling") {
  Spellings spellings;
  for (const auto* key : {"u:{ann}", "{u:{ann}", "{ann}:x", "{a}{b}"}) {
    CAPTURE(key);
    CHECK(refusal(spellings, key).empty());
  }
  CHECK(refusal(spellings, "ann").empty());
}

TEST_CASE("lines: the number of remembered keys is bounded") {
  Spellings spellings;
  CHECK(refusal(spellings, "ann").empty());
  for (std::size_t i = 1; i < Spellings::kMaxKeys; ++i) {
    REQUIRE(refusal(spellings, std::to_string(i)).empty());
  }
  CHECK(refusal(spellings, "{ann}").empty());
  Spellings long_keys;
  CHECK(refusal(long_keys, "ann").empty());
  CHECK(refusal(long_keys, std::string(Spellings::kMaxBytes, 'k')).empty());
  CHECK(refusal(long_keys, "{ann}").empty());
}

TEST_CASE("lines: messages that differ in values only are alike, and others are not") {
  FailureRun run;
  CHECK(run.is_alike(wrong("anything")));
  CHECK(run.add(1, wrong("cost must be a whole number in decimal digits, not 'x'"), 2));
  CHECK(run.is_alike(wrong("cost must be a whole number in decimal digits, not ''")));
  CHECK_FALSE(run.is_alike(wrong("the key is empty")));
  FailureRun too_large;
  CHECK(too_large.add(1, wrong("cost 10001 is too large"), 2));
  CHECK(too_large.is_alike(wrong("cost 99 is too large")));
}

TEST_CASE("lines: the first failures are reported, and the others are counted") {
  FailureRun run;
  CHECK(run.empty());
  CHECK(run.add(1, wrong("cost 'x' is bad"), 2));
  CHECK(run.add(2, wrong("cost 'x' is bad"), 2));
  CHECK(run.others().empty());
  CHECK_FALSE(run.add(5, wrong("cost 'y' is bad"), 2));
  CHECK(run.others() == "the same error on 1 more line (5)");
  CHECK_FALSE(run.add(9, wrong("cost 'z' is bad"), 2));
  CHECK(run.others() == "the same error on 2 more lines (5 to 9)");
  CHECK_FALSE(run.empty());
}

TEST_CASE("lines: a server's error is not reported twice") {
  FailureRun run;
  CHECK(run.add(1, lost("cannot connect to h"), 3));
  CHECK_FALSE(run.add(2, lost("cannot connect to h"), 3));
  CHECK(run.add(3, lost("cannot connect to h2"), 3));
  CHECK(run.others() == "the same error on 1 more line (2)");
}

}  // namespace rlctl::cli::check::lines_test
