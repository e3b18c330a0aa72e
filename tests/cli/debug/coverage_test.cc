#include "cli/commands/debug/view.h"

#include <doctest/doctest.h>

#include <string>

namespace cli_debug_coverage_test {

using rlctl::cli::debug::Coverage;

namespace {

std::string text_of(const Coverage& coverage) {
  std::string out;
  coverage.append_text(out, {});
  return out;
}

}  // namespace

TEST_CASE("columns are as wide as the largest count") {
  Coverage coverage("a\nb", {1, 2});
  coverage.add({{1, 1234567}});
  CHECK(text_of(coverage) ==
        "  1234567x  a\n"
        "      ***0  b\n"
        "1 of 2 lines reached (50.0 %)\n");
}

TEST_CASE("full coverage is reported only if every line was reached") {
  std::string source;
  std::set<int> lines;
  std::map<int, std::int64_t> hits;
  for (int line = 1; line <= 3000; ++line) {
    source += "x\n";
    lines.insert(line);
    hits[line] = 1;
  }
  hits.erase(1500);
  Coverage coverage(source, lines);
  coverage.add(hits);
  CHECK(coverage.summary() == "2999 of 3000 lines reached (99.9 %)");
  coverage.add({{1500, 1}});
  CHECK(coverage.summary() == "3000 of 3000 lines reached (100.0 %) by 2 requests");
}

TEST_CASE("lines end as in Lua, and their text is escaped") {
  Coverage coverage("a\r\nb\n\rc\rd\n\ne\033[31m", {1, 2, 3, 4, 6});
  coverage.add({{6, 1}});
  CHECK(text_of(coverage) ==
        "  ***0  a\n"
        "  ***0  b\n"
        "  ***0  c\n"
        "  ***0  d\n"
        "\n"
        "    1x  e\\x1b[31m\n"
        "1 of 5 lines reached (20.0 %)\n");
}

TEST_CASE("a script without code has no lines to reach") {
  Coverage coverage("-- nothing", {});
  coverage.add({});
  CHECK(text_of(coverage) == "        -- nothing\nno lines that can be reached\n");
  CHECK_FALSE(coverage.is_below(100));
  std::string lcov;
  coverage.append_lcov(lcov, "/a b.lua");
  CHECK(lcov == "TN:\nSF:/a b.lua\nLF:0\nLH:0\nend_of_record\n");
  lcov.clear();
  coverage.append_lcov(lcov, "/a\nDA:1,9\x1b.lua");
  CHECK(lcov == "TN:\nSF:/a\\nDA:1,9\\x1b.lua\nLF:0\nLH:0\nend_of_record\n");
}

}  // namespace cli_debug_coverage_test
