#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/commands/burst/report.h"
#include "cli/trial/document.h"
#include "cli/trial/measures.h"
#include "cli/trial/report.h"
#include "support/json_record.h"

namespace rlctl::cli::trial::forms_test {
namespace {

Report report_of(std::string name, std::vector<std::string> command = {"rlctl", "burst"}) {
  Report report{.plan = {.kind = TrafficPlan{.pattern = &traffic::patterns().front()},
                         .limits = {{.limit = 10, .window = std::chrono::seconds{60}}},
                         .command = std::move(command)}};
  Run run{.name = std::move(name)};
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
  const auto document = burst::make_document(report);
  const auto text = write_text(document, {});
  std::string json, line;
  JsonWriter writer(json);
  burst::write_json(writer, report, false);
  json += '\n';
  burst::append_decision_json(line, report.plan, report.runs[0].name, 1, "k", {}, {});
  CHECK(!holds(text, "\x1b"));
  CHECK(holds(text, "a,\"b\"\\x1b<c>"));
  CHECK(holds(recorded("burst", json), R"("algorithm":"a,\"b\"\u001b<c>")"));
  CHECK(holds(recorded("burst", line), R"("algorithm":"a,\"b\"\u001b<c>")"));
  CHECK(holds(draw_svg(document), "a,&quot;b&quot;\\x1b&lt;c&gt;"));
}

TEST_CASE("burst svg: text is escaped, control bytes too, which XML cannot hold") {
  const auto svg = draw_svg(burst::make_document(report_of("gcra", {"rlctl", "<a&b>\"\x01"})));
  CHECK(holds(svg, "rlctl $'&lt;a&amp;b&gt;&quot;\\x01'"));
  CHECK(!holds(svg, "<a&"));
}

TEST_CASE("burst svg: a long command continues on another line") {
  const std::string word(60, 'w');
  const auto svg = draw_svg(burst::make_document(report_of("gcra", {"rlctl", word, word})));
  CHECK(holds(svg, ">rlctl " + word + " \\</text>"));
  CHECK(holds(svg, ">    " + word + "</text>"));
}

}  // namespace rlctl::cli::trial::forms_test
