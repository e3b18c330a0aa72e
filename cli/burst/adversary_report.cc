#include "cli/burst/adversary_report.h"

#include <fmt/format.h>

#include "base/shell.h"
#include "base/text.h"
#include "traffic/measurement.h"

namespace rlctl::cli {
namespace {

using adversary::Finding;
using std::chrono::microseconds;

/// What is worth replaying: too much allowed, else a wrong denial, else the most that was allowed.
const Finding& telling_finding(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& result = run.result;
  const bool keeps_limit = result.most.score.worst <= report.limit.limit;
  return keeps_limit && result.wrongly_denied ? *result.wrongly_denied : result.most;
}

/// Seconds since 1970, with the digits that it takes.
std::string epoch_text(microseconds at) {
  constexpr std::int64_t kSecond = 1'000'000;
  auto text = fmt::format("{}.{:06}", at.count() / kSecond, at.count() % kSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// A line, or some where the text has line ends.
std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const auto c : text) out += c == '\n' ? "\n# " : std::string(1, c);
  return out + "\n";
}

}  // namespace

std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run,
                         const std::vector<std::string>& replay_command) {
  const auto& finding = telling_finding(report, run);
  auto log = comment(command_line(replay_command)) + comment(command_line(report.command)) + "# ";
  escape_text(log, run.name);
  log += fmt::format(": {} allowed within {} us, {} of {} requests denied wrongly\n",
                     finding.score.worst, finding.score.worst_span.count(),
                     finding.score.wrongly_denied.size(), finding.schedule.size());
  for (const auto at : finding.schedule) {
    log += fmt::format("{} 1 {}\n", epoch_text(at), report.cost);
  }
  return log;
}

BurstRun as_burst_run(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& finding = run.result.most;
  traffic::Measurement measurement({report.limit});
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const limiter::Decision decision{.allowed = finding.answers[i].allowed,
                                     .retry_after = limiter::kNever,
                                     .delay = finding.answers[i].delay};
    measurement.add({.at = finding.schedule[i], .cost = report.cost}, decision);
  }
  const auto& back = run.result.most_stepping_back;
  const auto& wrong = run.result.wrongly_denied;
  BurstRun burst{.name = run.name};
  burst.outcome.measured = measurement.result();
  burst.search = {
      .most_stepping_back = static_cast<double>((back ? *back : finding).score.worst) /
                            static_cast<double>(report.limit.limit),
      .wrongly_denied = wrong ? static_cast<std::int64_t>(wrong->score.wrongly_denied.size()) : 0};
  return burst;
}

}  // namespace rlctl::cli
