#include "script/head.h"

#include <doctest/doctest.h>

#include <array>

#include "base/error.h"

namespace rlctl::script {
namespace {

constexpr std::array<std::string_view, 4> kWords{"limit", "args", "allowed", "setup"};

/// "LINE WORD=VALUE" for each line, or the error.
std::string head_of(std::string_view source) {
  std::string out;
  try {
    for (const auto& line : read_head(source, "my.lua", kWords, "setup")) {
      out += std::to_string(line.line) + ' ' + line.word + '=' + line.value + '\n';
    }
  } catch (const InputError& error) {
    return error.what();
  }
  return out;
}

TEST_CASE("A head is the comments before the first statement, among others and blank lines") {
  CHECK(head_of("#!lua flags=no-writes\n"
                "-- A limiter.\n\n"
                "--rlctl:limit 5/60s\r\n"
                "--[[ rlctl: args long ]]\n"
                "--   rlctl:   args \t{limit}  ''  \n"
                "-- rlctl: allow no-ttl because a job removes them\n"
                "return 1 -- rlctl: allow no-ttl because of that\n") ==
        "4 limit=5/60s\n6 args={limit}  ''\n");
  CHECK(head_of("-- rlctl: setup SET a 1\n-- rlctl: setup SET b 2\n") ==
        "1 setup=SET a 1\n2 setup=SET b 2\n");
  CHECK(head_of("-- see rlctl: limit\nreturn 1").empty());
  CHECK(head_of("-- rlctl: limit 5/60s\nreturn 'unclosed").empty());
  CHECK(head_of("").empty());
}

TEST_CASE("A mistake in a head names the file and the line") {
  CHECK(head_of("\n-- rlctl: limt 5/60s\n") ==
        "my.lua:2: unknown word 'limt'; did you mean 'limit'?");
  CHECK(head_of("-- rlctl: xyzzy 1") ==
        "my.lua:1: unknown word 'xyzzy'; expected one of: limit, args, allowed or setup");
  CHECK(head_of("-- rlctl:") ==
        "my.lua:1: no word is given; expected one of: limit, args, allowed or setup");
  CHECK(head_of("-- rlctl: args") == "my.lua:1: args has no value");
  CHECK(head_of("-- rlctl: args 1\n-- rlctl: limit 1/s\n-- rlctl: args 2\n") ==
        "my.lua:3: args is there twice, the first time in line 1");
  for (const std::string near : {" RLCTL: args 1", " rlctl : args 1", "- rlctl: args 1"}) {
    CHECK(head_of("--" + near + "\n") ==
          "my.lua:1: a line of a head begins with '-- rlctl: WORD', not with '--" + near + "'");
  }
  CHECK(head_of("-- rlctl burst my.lua\n-- rlctl's limit: 5\n").empty());
  CHECK(head_of("return 1\n-- rlctl: args 1\n") ==
        "my.lua:2: args is after the first statement, where the head has ended");
}

}  // namespace
}  // namespace rlctl::script
