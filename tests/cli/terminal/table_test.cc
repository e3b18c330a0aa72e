#include "cli/terminal/table.h"

#include <doctest/doctest.h>

#include <string>

#include "cli/terminal/terminal.h"

namespace rlctl::cli::table_test {
namespace {

Table three_columns() {
  Table table;
  table.add("", {"fixed-window", "gcra"});
  table.add("sent", {"2000", "20"});
  table.add("at", {"-10 ms", "0"});
  return table;
}

std::string text(const Table& table, std::size_t columns, bool colour = false) {
  std::string out;
  table.append(out, {.columns = columns, .colour = colour, .utf8 = true});
  return out;
}

}  // namespace

TEST_CASE("table: names are aligned left, and values right under their titles") {
  CHECK(text(three_columns(), 80) ==
        "              sent      at\n"
        "fixed-window  2000  -10 ms\n"
        "gcra            20       0\n");
}

TEST_CASE("table: columns that do not fit are printed below, with the names again") {
  CHECK(text(three_columns(), 26) == text(three_columns(), 80));
  CHECK(text(three_columns(), 25) ==
        "              sent\n"
        "fixed-window  2000\n"
        "gcra            20\n"
        "\n"
        "                  at\n"
        "fixed-window  -10 ms\n"
        "gcra               0\n");
  // A single column is printed even if it does not fit.
  CHECK(text(three_columns(), 1) == text(three_columns(), 25));
}

TEST_CASE("table: colours and wide characters do not affect the alignment") {
  Table table;
  table.add("", {"a"});
  table.add("worst", {toned("2.00×", Tone::kBad, true)});
  table.add("b", {"1"});
  CHECK(text(table, 80) == "   worst  b\na  \033[31m2.00×\033[0m  1\n");
}

TEST_CASE("table: a line of titles has no trailing blanks") {
  Table table;
  table.add("key", {"a"});
  table.add("", {"1"});
  CHECK(text(table, 80) == "key\na    1\n");
}

}  // namespace rlctl::cli::table_test
