#include "cli/term/sheet.h"

#include <doctest/doctest.h>

#include <string>

#include "cli/term/style.h"

namespace rlctl::cli::sheet_test {
namespace {

Sheet three_columns() {
  Sheet sheet;
  sheet.add("", {"fixed-window", "gcra"});
  sheet.add("sent", {"2000", "20"});
  sheet.add("at", {"-10 ms", "0"});
  return sheet;
}

std::string text(const Sheet& sheet, std::size_t columns, bool colour = false) {
  std::string out;
  sheet.append(out, {.columns = columns, .colour = colour, .utf8 = true});
  return out;
}

}  // namespace

TEST_CASE("sheet: names to the left, values to the right under their titles") {
  CHECK(text(three_columns(), 80) ==
        "              sent      at\n"
        "fixed-window  2000  -10 ms\n"
        "gcra            20       0\n");
}

TEST_CASE("sheet: what is too wide goes below, with the names again") {
  CHECK(text(three_columns(), 26) == text(three_columns(), 80));
  CHECK(text(three_columns(), 25) ==
        "              sent\n"
        "fixed-window  2000\n"
        "gcra            20\n"
        "\n"
        "                  at\n"
        "fixed-window  -10 ms\n"
        "gcra               0\n");
  // One column goes even where it does not fit.
  CHECK(text(three_columns(), 1) == text(three_columns(), 25));
}

TEST_CASE("sheet: colours and wide characters take no place of others") {
  Sheet sheet;
  sheet.add("", {"a"});
  sheet.add("worst", {toned("2.00×", Tone::kBad, true)});
  sheet.add("b", {"1"});
  CHECK(text(sheet, 80) == "   worst  b\na  \033[31m2.00×\033[0m  1\n");
}

TEST_CASE("sheet: no blanks at the end of a line of titles without one") {
  Sheet sheet;
  sheet.add("key", {"a"});
  sheet.add("", {"1"});
  CHECK(text(sheet, 80) == "key\na    1\n");
}

}  // namespace rlctl::cli::sheet_test
