#include "cli/report/text.h"

#include <doctest/doctest.h>

#include <string>

namespace rlctl::cli::report::text_test {
namespace {

std::string text(std::size_t columns, const Part& part, bool colour = false) {
  const Look look{.columns = columns, .colour = colour, .utf8 = true};
  return text_of({&part, 1}, look);
}

std::string fact(std::size_t columns, const std::string& main, const std::string& remark = {}) {
  return text(columns, Fact{"used", main, {remark}});
}

const Rows kThreeColumns{
    .rows = {{"", "sent", "at"}, {"fixed-window", "2000", "-10 ms"}, {"gcra", "20", "0"}}};

}  // namespace

TEST_CASE("report: a fact has three columns, or two if the terminal is narrow") {
  CHECK(fact(80, "5 of 5") == "used       5 of 5\n");
  CHECK(fact(80, "5 of 5", "full") == "used       5 of 5                 full\n");
  CHECK(fact(60, "5 of 5", "full") == "used       5 of 5                 full\n");
  CHECK(fact(59, "5 of 5", "full") == "used       5 of 5\n           full\n");
}

TEST_CASE("report: the remarks of a fact are separated by commas, but not those without text") {
  CHECK(text(80, Fact{"used", "1", {"", "a", {"b", Tone::kBad}, ""}}, true) ==
        "\033[1mused\033[0m       1                      a, \033[31mb\033[0m\n");
}

TEST_CASE("report: a long value pushes the remark to the right or below") {
  const std::string value(30, 'k');
  CHECK(fact(80, value, "list") == "used       " + value + "  list\n");
  CHECK(fact(80, std::string(64, 'k'), "list") ==
        "used       " + std::string(64, 'k') + "\n           list\n");
  CHECK(fact(80, std::string(63, 'k'), "list") ==
        "used       " + std::string(63, 'k') + "  list\n");
}

TEST_CASE("report: remarks are broken after commas, else at blanks, but never within words") {
  const auto note = [](const std::string& sentence) { return text(31, Fact{.about = {sentence}}); };
  CHECK(note("12345678901234567890") == "           12345678901234567890\n");
  CHECK(note("next in 12.041 s, empty in 59.310 s") ==
        "           next in 12.041 s,\n           empty in 59.310 s\n");
  CHECK(note("one two three four five six") ==
        "           one two three four\n           five six\n");
  CHECK(note(std::string(40, 'w') + " end") ==
        "           " + std::string(40, 'w') + "\n           end\n");
  CHECK(note("").empty());
}

TEST_CASE("report: cells of lines that do not fit are printed below the first") {
  const auto lines = [](std::size_t columns) {
    return text(columns, Lines{{{"first", "1 s ago", "", "a b"}, {"1st", "12 s ago", "", ""}}});
  };
  CHECK(lines(80) ==
        "  first   1 s ago  a b\n"
        "  1st    12 s ago\n");
  CHECK(lines(22) == lines(80));
  CHECK(lines(21) ==
        "  first\n    1 s ago, a b\n"
        "  1st\n    12 s ago\n");
  CHECK(lines(14) ==
        "  first\n    1 s ago,\n    a b\n"
        "  1st\n    12 s ago\n");
  CHECK(text(80, Lines{}).empty());
}

TEST_CASE("report: colours do not count towards the width") {
  CHECK(text(80, Fact{"used", {"5 of 5", Tone::kBad}, {"full"}}, true) ==
        "\033[1mused\033[0m       \033[31m5 of 5\033[0m                 full\n");
}

TEST_CASE("report: names in a table are aligned left, and values right under their titles") {
  CHECK(text(80, kThreeColumns) ==
        "              sent      at\n"
        "fixed-window  2000  -10 ms\n"
        "gcra            20       0\n");
}

TEST_CASE("report: columns of a table that do not fit are printed below, with the names again") {
  CHECK(text(26, kThreeColumns) == text(80, kThreeColumns));
  CHECK(text(25, kThreeColumns) ==
        "              sent\n"
        "fixed-window  2000\n"
        "gcra            20\n"
        "\n"
        "                  at\n"
        "fixed-window  -10 ms\n"
        "gcra               0\n");
  // A single column is printed even if it does not fit.
  CHECK(text(1, kThreeColumns) == text(25, kThreeColumns));
}

TEST_CASE("report: colours and wide characters do not affect the alignment of a table") {
  const Rows table{.rows = {{"", "worst", "b"}, {"a", {"2.00×", Tone::kBad}, "1"}}};
  CHECK(text(80, table, true) == "\033[2m   worst  b\033[0m\na  \033[31m2.00×\033[0m  1\n");
}

TEST_CASE("report: a line of titles has no trailing blanks") {
  CHECK(text(80, Rows{.rows = {{"key", ""}, {"a", "1"}}}) == "key\na    1\n");
}

TEST_CASE("report: a table says how many rows it leaves out") {
  CHECK(text(80, Rows{.rows = {{"key", "n"}, {"a", "1"}, {"b", "2"}, {"c", "3"}}, .most = 1}) ==
        "key  n\n"
        "a    1\n"
        "  and 2 more; --json lists all\n");
}

TEST_CASE("report: the columns of a table that grows are as wide as what is known of them") {
  const Look look{.columns = 20, .utf8 = true};
  std::string out;
  GrowingTable table({"used", "ttl", "name", "key"}, {4, 0, 4, 1}, look);
  table.append(out, {{"5", "", "gcra", "login:bob"}});
  table.append(out, {{"5", "", "gcra", "a"}, {"12345", "", "fixed", "login:ann"}});
  CHECK(out ==
        "used  name  key\n"
        "   5  gcra  login:bob\n"
        "    5  gcra   a\n"
        "12345  fixed  login:ann\n");
}

}  // namespace rlctl::cli::report::text_test
