#include "cli/commands/inspect/report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <string>

#include "stored/libraries.h"

// Reports of states that no sequence of commands produces reliably. The transcripts in this folder
// test the others.

namespace rlctl::cli::inspect {
namespace {

stored::Inspection log() {
  stored::Inspection result;
  result.key = "k";
  result.content = {.type = "list",
                    .first = {.member = "1795155075155201", .score = {}},
                    .last = {.member = "1795155122424201", .score = {}}};
  result.state = stored::built_in_libraries().decode({.key = "k", .content = &result.content}, {});
  return result;
}

std::string json(const Found& found) {
  std::string out;
  append_json(out, found);
  return out;
}

}  // namespace

TEST_CASE("inspection: a key that changed while it was read has approximate figures") {
  Found found{.inspection = log()};
  found.inspection.changed_while_read = true;
  std::string text;
  append_text(text, found, {});
  CHECK(text.ends_with("  it changed while it was read: the figures are approximate\n"));
  CHECK(json(found).find(R"("changed_while_read":true,)") != std::string::npos);
}

TEST_CASE("inspection: 100,000 entries of JSON take little more time than their digits") {
  Found found{.inspection = log()};
  found.inspection.entries.assign(100'000, {.at = microseconds{1'795'155'075'155'201}});
  CHECK(json(found).size() > 3'500'000);
  // The best of several runs, in CPU time, because other processes may be running.
  const auto best_of = [](const auto& call) {
    auto best = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 20; ++i) {
      const auto start = std::clock();
      call();
      best = std::min(best, std::clock() - start);
    }
    return best;
  };
  const auto whole = best_of([&] { CHECK_FALSE(json(found).empty()); });
  const auto digits = best_of([&] {
    std::string text;
    for (const auto& entry : found.inspection.entries) text += std::to_string(entry.at.count());
    CHECK_FALSE(text.empty());
  });
  // A separate JSON value for each entry would take many times as long.
  CHECK(whole < 10 * digits);
}

}  // namespace rlctl::cli::inspect
