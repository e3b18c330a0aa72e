#include "cli/burst/junit.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "cli/burst/xml.h"

namespace rlctl::cli {
namespace {

std::string seconds_of(const BurstRun& run) {
  const auto& timeline = run.outcome.timeline;
  const auto& timing = run.outcome.timing;
  const std::chrono::duration<double> length = timeline.end() - timeline.begin();
  return fmt::format("{:.6f}", timing ? timing->seconds : length.count());
}

/// The cases of a suite, and how many of them failed.
struct Cases {
  std::string text = {};
  std::size_t failed = 0;
};

Cases cases_of(const BurstRun& run, std::span<const Assertion> assertions, std::string_view suite) {
  Cases cases;
  for (const auto& assertion : assertions) {
    const auto failures = failures_of({&assertion, 1}, {&run, 1});
    fmt::format_to(std::back_inserter(cases.text),
                   "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"", xml(suite),
                   xml(assertion.text), seconds_of(run));
    if (failures.empty()) {
      cases.text += "/>\n";
      continue;
    }
    ++cases.failed;
    fmt::format_to(std::back_inserter(cases.text),
                   ">\n      <failure type=\"assertion\" message=\"{}\">", xml(failures.front()));
    for (const auto& failure : failures) cases.text += xml(failure) + "\n";
    cases.text += "</failure>\n    </testcase>\n";
  }
  return cases;
}

}  // namespace

std::string junit_report(const BurstReport& report, std::span<const Assertion> assertions) {
  std::string suites;
  std::size_t failed = 0;
  for (const auto& run : report.runs) {
    const auto suite = fmt::format("rlctl.burst.{}.{}", traffic_name(report), run.name);
    const auto cases = cases_of(run, assertions, suite);
    failed += cases.failed;
    fmt::format_to(std::back_inserter(suites),
                   "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
                   "skipped=\"0\" time=\"{}\">\n{}  </testsuite>\n",
                   xml(suite), assertions.size(), cases.failed, seconds_of(run), cases.text);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"rlctl burst\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n{}"
      "</testsuites>\n",
      assertions.size() * report.runs.size(), failed, suites);
}

}  // namespace rlctl::cli
