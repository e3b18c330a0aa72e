#include <doctest/doctest.h>

#include <string>

#include "cli/burst/measures.h"
#include "cli/burst/svg.h"
#include "cli/burst/text.h"

namespace rlctl::cli::names_test {
namespace {

BurstReport report_of(std::string name) {
  BurstReport report{.plan = {.pattern = &traffic::patterns().front(),
                              .limits = {{.limit = 10, .window = std::chrono::seconds{60}}},
                              .command = {"rlctl"}}};
  BurstRun run{.name = std::move(name)};
  run.outcome.timeline.add(std::chrono::seconds{60}, true);
  run.outcome.measured.sent = run.outcome.measured.allowed = 1;
  report.runs.push_back(std::move(run));
  return report;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("burst names: the name of a run is treated as data in every format") {
  const auto report = report_of("a,\"b\"\x1b<c>");
  std::string text, json, csv, line;
  append_burst_text(text, report, {});
  append_burst_json(json, report);
  append_burst_csv(csv, report);
  append_decision_json(line, report.runs[0].name, "k", {}, {});
  CHECK(!holds(text, "\x1b"));
  CHECK(holds(text, "a,\"b\"\\x1b<c>"));
  CHECK(holds(json, R"("algorithm":"a,\"b\"\u001b<c>")"));
  CHECK(holds(csv, ",\"a,\"\"b\"\"\x1b<c>\","));
  CHECK(holds(line, R"("algorithm":"a,\"b\"\u001b<c>")"));
  CHECK(holds(burst_svg(report), "a,&quot;b&quot;\\x1b&lt;c&gt;"));
}

}  // namespace rlctl::cli::names_test
