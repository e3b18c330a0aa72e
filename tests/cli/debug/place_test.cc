#include "cli/commands/debug/place.h"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.h"

namespace cli_debug_place_test {

using rlctl::cli::debug::why_not_forked;
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

}  // namespace cli_debug_place_test
