#include "cli/commands/debug/redis_cli.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cli_debug_redis_cli_test {

using namespace rlctl::cli::debug;
using rlctl::redis::Url;

TEST_CASE("redis-cli is given the keys, then the arguments after a comma") {
  Plan plan;
  plan.debuggee.keys = {"a", "b c"};
  const Url url{.host = "h", .port = 1, .password = "secret"};
  const std::vector<std::string> start{"redis-cli", "-h", "h", "-p", "1", "--ldb", "--eval", "f"};
  auto expected = start;
  expected.insert(expected.end(), {"a", "b c"});
  CHECK(redis_cli_ldb_words(plan, url, "f") == expected);
  plan.debuggee.arguments = {"", ","};
  expected.insert(expected.end(), {",", "", ","});
  CHECK(redis_cli_ldb_words(plan, url, "f") == expected);
  plan.debuggee.keys = {"a", "-n"};
  CHECK(redis_cli_ldb_words(plan, url, "f").size() == expected.size());
  plan.debuggee.keys = {"-n"};
  CHECK_THROWS((void)redis_cli_ldb_words(plan, url, "f"));
  plan.debuggee.keys = {"a", ","};
  CHECK_THROWS((void)redis_cli_ldb_words(plan, url, "f"));
}

}  // namespace cli_debug_redis_cli_test
