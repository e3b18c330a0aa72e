#include "cli/terminal/table.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

namespace rlctl::cli::text_block_test {
namespace {

std::string text(std::size_t columns, const std::function<void(TextBlock&)>& fill,
                 bool colour = false) {
  std::string out;
  const Look look{.columns = columns, .colour = colour, .utf8 = true};
  TextBlock block(out, look);
  fill(block);
  return out;
}

std::string row(std::size_t columns, std::string_view label, std::string_view main,
                std::string_view about = {}) {
  return text(columns, [&](TextBlock& block) { block.row(label, main, about); });
}

}  // namespace

TEST_CASE("text block: there are three columns, or two if it is narrow") {
  CHECK(row(80, "used", "5 of 5") == "used       5 of 5\n");
  CHECK(row(80, "used", "5 of 5", "full") == "used       5 of 5                 full\n");
  CHECK(row(60, "used", "5 of 5", "full") == "used       5 of 5                 full\n");
  CHECK(row(59, "used", "5 of 5", "full") == "used       5 of 5\n           full\n");
}

TEST_CASE("text block: a long main part pushes the rest to the right or below") {
  const std::string long_main(30, 'k');
  CHECK(row(80, "key", long_main, "list") == "key        " + long_main + "  list\n");
  CHECK(row(80, "key", std::string(64, 'k'), "list") ==
        "key        " + std::string(64, 'k') + "\n           list\n");
  CHECK(row(80, "key", std::string(63, 'k'), "list") ==
        "key        " + std::string(63, 'k') + "  list\n");
}

TEST_CASE("text block: lines are broken after commas, else at blanks, but never within words") {
  const auto note = [](std::string_view sentence) {
    return text(31, [&](TextBlock& block) { block.note(sentence); });
  };
  CHECK(note("12345678901234567890") == "           12345678901234567890\n");
  CHECK(note("next in 12.041 s, empty in 59.310 s") ==
        "           next in 12.041 s,\n           empty in 59.310 s\n");
  CHECK(note("one two three four five six") ==
        "           one two three four\n           five six\n");
  CHECK(note(std::string(40, 'w') + " end") ==
        "           " + std::string(40, 'w') + "\n           end\n");
  CHECK(note("").empty());
}

TEST_CASE("text block: table cells that do not fit are printed below the first") {
  const auto table = [](std::size_t columns) {
    return text(columns, [](TextBlock& block) {
      block.table({{"first", "1 s ago", "", "a b"}, {"1st", "12 s ago", "", ""}});
    });
  };
  CHECK(table(80) ==
        "  first   1 s ago  a b\n"
        "  1st    12 s ago\n");
  CHECK(table(22) == table(80));
  CHECK(table(21) ==
        "  first\n    1 s ago, a b\n"
        "  1st\n    12 s ago\n");
  CHECK(table(14) ==
        "  first\n    1 s ago,\n    a b\n"
        "  1st\n    12 s ago\n");
  CHECK(text(80, [](TextBlock& block) { block.table({}); }).empty());
}

TEST_CASE("text block: colours do not count towards the width") {
  const auto coloured = text(
      80, [](TextBlock& block) { block.row("used", block.tone("5 of 5", Tone::kBad), "full"); },
      true);
  CHECK(coloured == "\033[1mused\033[0m       \033[31m5 of 5\033[0m                 full\n");
}

}  // namespace rlctl::cli::text_block_test
