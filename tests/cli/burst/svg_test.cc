#include "cli/burst/svg.h"

#include <doctest/doctest.h>

#include <string>

namespace rlctl::cli::svg_test {
namespace {

BurstReport report_of(std::vector<std::string> command) {
  BurstReport report{.plan = {.pattern = &traffic::patterns().front(),
                              .limits = {{.limit = 10, .window = std::chrono::seconds{60}}},
                              .command = std::move(command)}};
  BurstRun run{.name = "gcra"};
  run.outcome.timeline.add(std::chrono::seconds{60}, true);
  run.outcome.measured.sent = run.outcome.measured.allowed = 1;
  report.runs.push_back(std::move(run));
  return report;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "burst svg: text is escaped, and characters that are invalid in XML are escaped or omitted") {
  const auto svg = burst_svg(report_of({"rlctl", "<a&b>\"\x01"}));
  CHECK(holds(svg, "rlctl $'&lt;a&amp;b&gt;&quot;\\x01'"));
  CHECK(!holds(svg, "<a&"));
}

TEST_CASE("burst svg: a long command continues on the next line") {
  const std::string word(60, 'w');
  const auto svg = burst_svg(report_of({"rlctl", word, word}));
  CHECK(holds(svg, ">rlctl " + word + " \\</text>"));
  CHECK(holds(svg, ">    " + word + "</text>"));
}

TEST_CASE("burst svg: an interrupted run is marked as interrupted") {
  auto report = report_of({"rlctl"});
  CHECK(!holds(burst_svg(report), "interrupted"));
  report.interrupted = true;
  CHECK(holds(burst_svg(report), "interrupted"));
}

}  // namespace rlctl::cli::svg_test
