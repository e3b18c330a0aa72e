#include "lint/excuses.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace rlctl::lint {
namespace {

/// "LINE: FIRST-LAST KIND because REASON" of each excuse.
std::string excuses_in(const std::string& source) {
  std::string all;
  for (const auto& each : read_excuses(source, "my.lua")) {
    all += std::to_string(each.line) + ": " + std::to_string(each.first) + "-" +
           std::to_string(each.last) + " " + std::string(each.kind.name) + " because " +
           each.reason + "\n";
  }
  return all;
}

/// "LINE NAME" of each finding, with the excuse, after those in the source are applied to a no-ttl
/// in these lines.
std::string applied(const std::string& source, const std::vector<int>& lines,
                    bool is_looked_for = true) {
  std::vector<Finding> findings;
  for (const int line : lines) findings.push_back({.name = "no-ttl", .line = line});
  apply_excuses(read_excuses(source, "my.lua"), findings,
                [&](const FindingKind& /*kind*/) { return is_looked_for; });
  std::string all;
  for (const auto& each : findings) {
    all += std::to_string(each.line) + " " + std::string(each.name) +
           (each.excuse.empty() ? "" : " (" + each.excuse + ")") + "\n";
  }
  return all;
}

const std::string kAllow = "-- rlctl: allow no-ttl because why\n";

}  // namespace

TEST_CASE("an excuse is about the next line of code; in the head, also about no line") {
  struct Row {
    std::string source, excuses;
  };
  const std::vector<Row> rows{
      {"local x\n" + kAllow + "-- more\n\nreturn x", "2: 3-5 no-ttl because why\n"},
      {kAllow + "--[[ more\n]] return", "1: 0-3 no-ttl because why\n"},
      {"#!lua flags=no-writes\n" + kAllow + "return", "2: 0-3 no-ttl because why\n"},
      {kAllow + "-- rlctl: allow wrong-limit because of it\nreturn",
       "1: 0-3 no-ttl because why\n2: 0-3 wrong-limit because of it\n"},
      {"local x -- rlctl: allow no-ttl because why\nreturn x", "1: 2-2 no-ttl because why\n"},
      {"local x -- rlctl: allow no-ttl because why", "1: 2-1 no-ttl because why\n"},
      {"--  rlctl:  allow\tno-ttl  because  one  two \t\r\nreturn",
       "1: 0-2 no-ttl because one  two\n"},
      // Not an excuse: another word, in a string or a long comment, in prose, in no Lua.
      {"-- rlctl: limit 5/60s\n-- rlctl: allowed r[1] == 1\n-- rlctl:\nreturn", ""},
      {"return [[\n" + kAllow + "]]", ""},
      {"--[[\n" + kAllow + "]]\nreturn", ""},
      {"-- As in rlctl: allow no-ttl because why\nreturn", ""},
      {kAllow + "return 'x", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.source);
    CHECK(excuses_in(row.source) == row.excuses);
  }
}

TEST_CASE("an excuse that is not understood is an error") {
  struct Row {
    std::string words, message;
  };
  const std::vector<Row> rows{
      {" no-tll because why", "my.lua:1: unknown finding 'no-tll'; did you mean 'no-ttl'?"},
      {" no-ttl, long-ttl because why",
       "my.lua:1: unknown finding 'no-ttl,'; did you mean 'no-ttl'?"},
      {"", "my.lua:1: unknown finding ''"},
      {" no-ttl", "my.lua:1: the excuse for no-ttl has no reason"},
      {" no-ttl because ", "my.lua:1: the excuse for no-ttl has no reason"},
      {" no-ttl since why", "my.lua:1: the excuse for no-ttl has no reason"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.words);
    CHECK_THROWS_WITH_AS(read_excuses("-- rlctl: allow" + row.words + "\nreturn", "my.lua"),
                         row.message.c_str(), InputError);
  }
}

TEST_CASE("a finding is excused in its line alone, and an excuse that meets none is a finding") {
  CHECK(applied(kAllow + "call()\ncall()", {0, 2, 3}) ==
        "0 no-ttl (why)\n2 no-ttl (why)\n3 no-ttl\n");
  CHECK(applied("local x\n" + kAllow + "call()", {0, 1, 3}) ==
        "0 no-ttl\n1 no-ttl\n3 no-ttl (why)\n");
  CHECK(applied("local x\n" + kAllow + "call()", {1}) == "1 no-ttl\n2 unused-excuse\n");
  CHECK(applied("local x\n" + kAllow + "call()", {1}, false) == "1 no-ttl\n");
  CHECK(applied("-- rlctl: allow long-ttl because why\ncall()", {2}) ==
        "2 no-ttl\n1 unused-excuse\n");
}

}  // namespace rlctl::lint
