#include "base/text.h"

#include <doctest/doctest.h>

#include <array>

namespace rlctl::limiter::suggest_test {
namespace {

constexpr std::array<std::string_view, 4> kNames{"--limit", "--burst", "--json", "--url"};

}  // namespace

TEST_CASE("suggest: swapping two neighbours is one edit") {
  CHECK(edit_distance("chekc", "check") == 1);
  CHECK(edit_distance("check", "check") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("suggest: a similar name is suggested") {
  CHECK(closest("--limti", kNames) == "--limit");
  CHECK(closest("--limits", kNames) == "--limit");
  CHECK(closest("--brust", kNames) == "--burst");
  CHECK(did_you_mean("--jsno", kNames) == "; did you mean '--json'?");
  CHECK(closest("--LIMIT", kNames) == "--limit");
  CHECK(closest("--Urk", kNames) == "--url");
  CHECK(closest("--URL", kNames) == "--url");
}

TEST_CASE("suggest: a different or short name is not suggested") {
  CHECK(closest("--wait", kNames).empty());
  CHECK(closest("--ul", kNames).empty());
  CHECK(closest("--", kNames).empty());
  CHECK(did_you_mean("--verbose", kNames).empty());
}

TEST_CASE("suggest: lists read like a sentence") {
  CHECK(one_of(std::array<std::string_view, 1>{"a"}) == "a");
  CHECK(one_of(std::array<std::string_view, 3>{"a", "b", "c"}) == "a, b or c");
}

}  // namespace rlctl::limiter::suggest_test
