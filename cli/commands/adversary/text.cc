#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/adversary/holders.h"
#include "cli/commands/adversary/report.h"
#include "cli/terminal/table.h"
#include "cli/trial/findings.h"
#include "cli/trial/holder_report.h"
#include "cli/trial/text.h"

namespace rlctl::cli::adversary {
namespace {

using rlctl::adversary::Finding;
using std::chrono::microseconds;
using trial::append_sentence;
using trial::Plan;
using trial::Report;
using trial::Run;
using trial::SearchFindings;

/// "from the beginning of a window, 2026-01-01T00:00:00Z": the origin of such offsets.
std::string window_origin_text(microseconds begin) {
  return "from the beginning of a window, " + instant_text(begin);
}

/// The times that an exhaustive search tries.
constexpr std::string_view kCriticalTimes =
    "the time of the previous request; 1 µs later; 1/4, 1/2 and 3/4 of a window later; and 1 µs "
    "before, at, and 1 µs after the next edge of the clock's windows and one window after each "
    "earlier request";

/// The schedules that a search tries against each limiter, in a few words: "seed 1, 50000 requests
/// for each limiter".
std::string about_text(const Plan& plan) {
  const auto& search = *plan.search();
  const std::string_view what = has_holders(plan) ? "event" : "request";
  auto about = search.exhaustive ? fmt::format("every schedule of up to {} at critical times",
                                               counted(*search.exhaustive, what))
                                 : fmt::format("seed {}, {} {}s for each limiter",
                                               plan.request.seed, search.tries, what);
  if (!plan.reserve && (plan.costs.size() > 1 || plan.costs.front() > 1)) {
    about += fmt::format(", cost {}", fmt::join(plan.costs, ", "));
  }
  return about;
}

/// Appends a report for people.
class TextReport {
 public:
  /// All arguments must outlive this.
  TextReport(std::string& out, const Report& report, const Look& look)
      : out_(out), report_(report), plan_(report.plan), look_(look), block_(out, look) {}

  void append() {
    append_header();
    if (has_holders(plan_)) {
      append_holder_search(out_, report_, look_);
    } else {
      append_search();
    }
    append_command(out_, plan_, look_);
  }

 private:
  void append_header() {
    block_.row("pattern", traffic_name(report_), traffic_text(report_));
    if (plan_.concurrency) {
      block_.row("limit", leases_text(plan_));
      block_.row("", about_text(plan_));
    } else {
      block_.row("limit", trial::limits_text(plan_.limits), about_text(plan_));
    }
    if (plan_.reserve) block_.row("units", reservations_text(plan_));
    append_limiters(block_, report_);
  }

  /// One row per instant: its requests, and how many were allowed and denied.
  void append_schedule(const Finding& finding) {
    constexpr std::size_t kMaxRows = 20;
    const auto instants = rlctl::adversary::instants_of(finding.schedule);
    const bool shows_cost = plan_.costs.size() > 1;
    std::vector<Cells> rows{{"at", shows_cost ? "cost" : "", "requests", "allowed", "denied"}};
    for (const auto& instant : std::span(instants).first(std::min(instants.size(), kMaxRows))) {
      const auto answers = std::span(finding.answers).subspan(instant.first, instant.count);
      const auto allowed = static_cast<std::size_t>(std::count_if(
          answers.begin(), answers.end(), [](const auto& answer) { return answer.allowed; }));
      rows.push_back({trial::exact_offset_text(instant.at - search_base(plan_)),
                      shows_cost ? fmt::to_string(instant.cost) : "", fmt::to_string(instant.count),
                      fmt::to_string(allowed), fmt::to_string(instant.count - allowed)});
    }
    trial::append_rows(out_, rows, look_);
    if (instants.size() > kMaxRows) {
      out_ += fmt::format("  and {} more; --json lists all\n", instants.size() - kMaxRows);
    }
  }

  /// A finding: the title, the verdict on the same line if there is room, and the schedule.
  void append_finding(const std::string& title, const Finding& finding,
                      const SearchFindings& search) {
    const auto verdict = finding_verdict(finding, search, look_);
    const auto line = title + "  " + verdict;
    if (display_width(line) <= look_.columns) {
      out_.append(line).append("\n");
    } else {
      out_.append(title).append("\n");
      block_.item(verdict);
    }
    append_schedule(finding);
  }

  void append_denied(const rlctl::adversary::SearchResult& result) {
    if (const auto& wrong = result.wrongly_denied) {
      const bool is_minor = wrong->score.only_at_edge();
      const bool is_back = rlctl::adversary::steps_back(wrong->schedule);
      std::string title =
          is_minor ? "denied exactly one window after" : "wrongly denied: an exact log would allow";
      if (is_minor && !is_back) title += ", where an exact log would allow";
      if (is_back) title += ", if the clock steps back";
      out_ += toned(title, is_minor ? Tone::kWarning : Tone::kBad, look_.colour) + "\n";
      append_schedule(*wrong);
      if (is_minor) {
        append_sentence(out_, "edge",
                        result.edge_agrees
                            ? "the limiter denies exactly one window after a unit, where an exact "
                              "log allows, and allows a moment later: it compares with > instead "
                              "of >=, or it rounds; no other denial differed in what was tried"
                            : "found such denials only exactly one window after a unit; whether "
                              "they end there was not established",
                        look_);
      }
    } else {
      append_sentence(out_, "denied",
                      result.interrupted ? "so far nothing that an exact log would allow"
                                         : "nothing that an exact log would allow",
                      look_);
    }
  }

  void append_findings(const Run& run, const traffic::Candidate& candidate) {
    const auto* algorithm = candidate.algorithm;
    const auto& result = run.search()->result;
    append_finding(toned(escaped_text(run.name), Tone::kLabel, look_.colour), result.most,
                   *run.search());
    append_remarks(out_, remarks_on_search(report_, run), look_);
    if (result.most_stepping_back) {
      append_finding("if the clock steps back", *result.most_stepping_back, *run.search());
    }
    if (algorithm == nullptr || algorithm->is_exact) append_denied(result);
  }

  /// A limiter of which nothing is known; `result` is null if its search did not begin.
  void append_unknown(std::string_view name, const rlctl::adversary::SearchResult* result) {
    const bool is_over = result != nullptr && !result->interrupted;
    const auto why = is_over ? "skipped " + trial::left_out_text(*result) : "interrupted";
    out_ += toned(escaped_text(name), Tone::kLabel, look_.colour) + '\n';
    block_.item(toned("nothing is known: " + why, Tone::kWarning, look_.colour));
  }

  void append_search() {
    for (std::size_t i = 0; i < plan_.candidates.size(); ++i) {
      const auto& candidate = plan_.candidates[i];
      const auto* result = i < report_.runs.size() ? &report_.runs[i].search()->result : nullptr;
      out_ += '\n';
      if (result == nullptr || result->most.schedule.empty()) {
        append_unknown(name_of(candidate), result);
      } else {
        append_findings(report_.runs[i], candidate);
      }
    }
    append_sentence(out_, "times", window_origin_text(search_base(plan_)), look_);
    if (plan_.search()->exhaustive)
      append_sentence(out_, "critical", std::string(kCriticalTimes), look_);
    out_ += '\n';
  }

  std::string& out_;
  const Report& report_;
  const Plan& plan_;
  const Look& look_;
  TextBlock block_;
};

}  // namespace

void append_text(std::string& out, const Report& report, const Look& look) {
  TextReport(out, report, look).append();
}

std::string schedule_log(const Report& report) {
  const auto& run = report.runs.front();
  const auto& most = run.search()->result.most;
  const auto& wrong = run.search()->result.wrongly_denied;
  // A replay sorts requests by time, so that it cannot show what needs a clock that steps back.
  const bool shows_wrong = most.score.worst <= run.search()->limit.limit && wrong &&
                           !rlctl::adversary::steps_back(wrong->schedule);
  const auto& finding = shows_wrong ? *wrong : most;
  const auto& replay = report.plan.search()->replay_command;
  auto log = fmt::format(
      "# {}\n# {}\n# {}: {} allowed {}, {} of {} requests wrongly denied\n",
      replay.empty() ? "a script is replayed if its name ends in .lua" : command_line(replay),
      command_line(report.plan.command), escaped_text(run.name), finding.score.worst,
      trial::within_text(finding.score.worst_span), finding.score.wrongly_denied.size(),
      finding.schedule.size());
  for (const auto& request : finding.schedule) {
    log += fmt::format("{} 1 {}\n", decimal_seconds(request.at), request.cost);
  }
  return log;
}

}  // namespace rlctl::cli::adversary
