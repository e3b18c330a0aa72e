#include <fmt/format.h>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/burst/adversary_report.h"

namespace rlctl::cli {
namespace {

using adversary::Finding;

void append_finding(std::string& out, const Finding& finding, const AdversaryReport& report) {
  const auto& score = finding.score;
  out += fmt::format("{{\"worst\":{{\"allowed\":{},\"ratio\":{},\"from_us\":{},\"span_us\":{}}},",
                     score.worst,
                     static_cast<double>(score.worst) / static_cast<double>(report.limit.limit),
                     score.worst_from.count(), score.worst_span.count());
  out += "\"wrongly_denied\":[";
  for (std::size_t i = 0; i < score.wrongly_denied.size(); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ",", score.wrongly_denied[i]);
  }
  out += "],\"schedule\":[";
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const auto& answer = finding.answers[i];
    out += fmt::format("{}{{\"at_us\":{},\"allowed\":{},\"delay_us\":{}}}", i == 0 ? "" : ",",
                       finding.schedule[i].count(), answer.allowed, answer.delay.count());
  }
  out += "]}";
}

void append_finding(std::string& out, std::string_view name, const std::optional<Finding>& finding,
                    const AdversaryReport& report) {
  out += fmt::format(",\"{}\":", name);
  if (finding) {
    append_finding(out, *finding, report);
  } else {
    out += "null";
  }
}

}  // namespace

void append_adversary_json(std::string& out, const AdversaryReport& report) {
  out += fmt::format(
      "{{\"pattern\":\"adversary\",\"seed\":{},\"clock\":\"virtual\",\"limit\":{},\"window_us\":{},"
      "\"burst\":{},\"cost\":{},\"budget\":{},\"base_us\":{},\"command\":",
      report.seed, report.limit.limit, report.limit.window.count(),
      report.limit.burst ? fmt::to_string(*report.limit.burst) : "null", report.cost, report.budget,
      report.base.count());
  append_json_string(out, command_line(report.command));
  out += fmt::format(",\"interrupted\":{},\"runs\":[", report.interrupted);
  for (const auto& run : report.runs) {
    if (&run != &report.runs.front()) out += ',';
    out += "{\"algorithm\":";
    append_json_string(out, run.name);
    out += fmt::format(",\"asked\":{},\"tick_us\":{},\"unbounded\":{},\"most\":", run.result.asked,
                       run.tick.count(), run.result.is_unbounded);
    append_finding(out, run.result.most, report);
    append_finding(out, "most_stepping_back", run.result.most_stepping_back, report);
    append_finding(out, "wrongly_denied", run.result.wrongly_denied, report);
    out += '}';
  }
  out += "]}\n";
}

}  // namespace rlctl::cli
