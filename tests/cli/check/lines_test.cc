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

}  // namespace

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

}  // namespace rlctl::cli::check::lines_test
