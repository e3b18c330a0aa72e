#include "cli/debug/place.h"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.h"

namespace cli_debug_place_test {

using rlctl::cli::DebugPlan;
using rlctl::cli::redis_cli_words;
using rlctl::cli::why_not_forked;
using rlctl::redis::Url;
using support::contains;

TEST_CASE("a fork cannot be used over TLS") {
  const rlctl::ldb::Debuggee script{.name = "a.lua", .source = "return 1"};
  CHECK(why_not_forked(Url{}, script).empty());
  CHECK(contains(why_not_forked(Url{.tls = rlctl::redis::Tls{}}, script), "over TLS"));
}

TEST_CASE("a fork truncates long scripts") {
  rlctl::ldb::Debuggee script{.name = "a.lua", .source = std::string(12'000, ' ')};
  CHECK(why_not_forked(Url{}, script).empty());
  script.source.resize(20'000, ' ');
  CHECK(contains(why_not_forked(Url{}, script), "a.lua is too long, at 20000 bytes"));
  // Servers check the average length of all words.
  script.keys = {"a", "b", "c", "d"};
  CHECK(why_not_forked(Url{}, script).empty());
}

TEST_CASE("redis-cli is given the keys, then the arguments after a comma") {
  DebugPlan plan;
  plan.debuggee.keys = {"a", "b c"};
  const Url url{.host = "h", .port = 1, .password = "secret"};
  const std::vector<std::string> start{"redis-cli", "-h", "h", "-p", "1", "--ldb", "--eval", "f"};
  auto expected = start;
  expected.insert(expected.end(), {"a", "b c"});
  CHECK(redis_cli_words(plan, url, "f") == expected);
  plan.debuggee.arguments = {"", ","};
  expected.insert(expected.end(), {",", "", ","});
  CHECK(redis_cli_words(plan, url, "f") == expected);
  plan.debuggee.keys = {"a", "-n"};
  CHECK(redis_cli_words(plan, url, "f").size() == expected.size());
  plan.debuggee.keys = {"-n"};
  CHECK_THROWS((void)redis_cli_words(plan, url, "f"));
  plan.debuggee.keys = {"a", ","};
  CHECK_THROWS((void)redis_cli_words(plan, url, "f"));
}

}  // namespace cli_debug_place_test
