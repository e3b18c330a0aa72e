#include "cli/server/needs.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/errors/failure.h"
#include "limiter/algorithm.h"

namespace rlctl::cli::needs_test {

/// The rules for these commands, each line with this indentation and short enough for a page of the
/// manual.
std::string lines_of_rules(const std::vector<std::string>& commands, std::string_view indentation) {
  constexpr std::size_t kColumns = 64;
  std::string lines;
  std::size_t length = kColumns;
  for (const auto& command : commands) {
    const auto rule = rule_for(command);
    if (length + 1 + rule.size() > kColumns) {
      lines += (lines.empty() ? "" : "\n") + std::string(indentation) + rule;
      length = rule.size();
    } else {
      lines += " " + rule;
      length += 1 + rule.size();
    }
  }
  return lines + "\n";
}

std::string row_of(const Use& use) {
  return "*" + std::string(use.name) + "*\n" + lines_of_rules(use.commands, "\t");
}

/// The rows of the page: each name in bold whose next lines begin with a rule, and these lines.
std::string rows_of(const std::string& page) {
  std::istringstream lines(page);
  std::string rows;
  std::string before;
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("\t+")) {
      if (!before.starts_with("\t+")) rows += before + "\n";
      rows += line + "\n";
    }
    before = line;
  }
  return rows;
}

TEST_CASE("rlctl-acl(7) has the rules of each algorithm and of each use, and no others") {
  std::ifstream file(RLCTL_TESTS_DIR "/../man/rlctl-acl.7.scd");
  REQUIRE(file);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string expected;
  for (const auto& algorithm : limiter::algorithms()) {
    expected += row_of(use_named(algorithm.name));
  }
  for (const auto& use : uses()) expected += row_of(use);
  CHECK(rows_of(page) == expected);

  const auto example = lines_of_rules(use_named(limiter::kDefaultAlgorithm).commands, "    ");
  CAPTURE(example);
  CHECK(page.find("ACL SETUSER limiter on >PASSWORD ~login:* ~{login:*\n" + example) != page.npos);
}

}  // namespace rlctl::cli::needs_test
