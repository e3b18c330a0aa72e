#include "cli/commands/burst/junit.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "cli/commands/burst/difference.h"
#include "cli/commands/burst/xml.h"

namespace rlctl::cli {
namespace {

std::string seconds_of(const BurstRun& run) {
  const auto& timeline = run.outcome.timeline;
  const auto& timing = run.outcome.timing;
  const std::chrono::duration<double> length = timeline.end() - timeline.begin();
  return fmt::format("{:.6f}", timing ? timing->seconds : length.count());
}

/// The cases of one suite.
class Suite {
 public:
  Suite(const BurstReport& report, const BurstRun& run)
      : name_(fmt::format("rlctl.burst.{}.{}", traffic_name(report), run.name)),
        seconds_(seconds_of(run)) {}

  /// `type` is the kind of a failure.
  void add(std::string_view name, std::string_view type, std::span<const std::string> failures) {
    ++cases_;
    fmt::format_to(std::back_inserter(text_),
                   "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"", xml(name_), xml(name),
                   seconds_);
    if (failures.empty()) {
      text_ += "/>\n";
      return;
    }
    ++failed_;
    fmt::format_to(std::back_inserter(text_), ">\n      <failure type=\"{}\" message=\"{}\">", type,
                   xml(failures.front()));
    for (const auto& failure : failures) text_ += xml(failure) + "\n";
    text_ += "</failure>\n    </testcase>\n";
  }

  [[nodiscard]] std::size_t cases() const { return cases_; }
  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] std::string text() const {
    return fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\" "
        "time=\"{}\">\n{}  </testsuite>\n",
        xml(name_), cases_, failed_, seconds_, text_);
  }

 private:
  std::string name_, seconds_, text_;
  std::size_t cases_ = 0, failed_ = 0;
};

void add_comparison(Suite& suite, const BurstReport& report) {
  std::vector<std::string> failures;
  if (report.difference) failures.push_back(difference_text(report.plan, *report.difference));
  suite.add(fmt::format("--against {}", name_of(report.plan.candidates[1])), "difference",
            failures);
}

}  // namespace

std::string junit_report(const BurstReport& report, std::span<const Assertion> assertions) {
  std::string suites;
  std::size_t cases = 0, failed = 0;
  for (const auto& run : report.runs) {
    Suite suite(report, run);
    for (const auto& assertion : assertions) {
      suite.add(assertion.text, "assertion", failures_of({&assertion, 1}, {&run, 1}));
    }
    if (report.plan.is_comparison && &run == &report.runs.front()) add_comparison(suite, report);
    cases += suite.cases();
    failed += suite.failed();
    suites += suite.text();
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"rlctl burst\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n{}"
      "</testsuites>\n",
      cases, failed, suites);
}

}  // namespace rlctl::cli
