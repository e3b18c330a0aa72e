#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/adversary/holders.h"
#include "cli/commands/adversary/report.h"
#include "cli/trial/findings.h"
#include "cli/trial/picture.h"
#include "cli/trial/wording.h"

namespace rlctl::cli::adversary {
namespace {

using rlctl::adversary::Finding;
using trial::Fact;
using trial::Heading;
using trial::Judgement;
using trial::Plan;
using trial::Report;
using trial::Rows;
using trial::Run;
using trial::Section;
using trial::Sentence;

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

/// A row for each instant: its requests, and how many were allowed and denied.
Rows schedule_rows(const Finding& finding, const Plan& plan) {
  const bool shows_cost = plan.costs.size() > 1;
  Rows table{.rows = {{"at", shows_cost ? "cost" : "", "requests", "allowed", "denied"}},
             .most = kMostSteps};
  for (const auto& instant : rlctl::adversary::instants_of(finding.schedule)) {
    const auto answers = std::span(finding.answers).subspan(instant.first, instant.count);
    const auto allowed = static_cast<std::size_t>(
        std::ranges::count_if(answers, [](const auto& answer) { return answer.allowed; }));
    table.rows.push_back({trial::exact_offset_text(instant.at - search_base(plan)),
                          shows_cost ? fmt::to_string(instant.cost) : "",
                          fmt::to_string(instant.count), fmt::to_string(allowed),
                          fmt::to_string(instant.count - allowed)});
  }
  return table;
}

void add_denied(Section& section, const rlctl::adversary::SearchResult& result, const Plan& plan) {
  const auto& wrong = result.wrongly_denied;
  if (!wrong) {
    section.push_back(Sentence{"denied", result.interrupted
                                             ? "so far nothing that an exact log would allow"
                                             : "nothing that an exact log would allow"});
    return;
  }
  const bool is_minor = wrong->score.only_at_edge();
  const bool is_back = rlctl::adversary::steps_back(wrong->schedule);
  std::string title =
      is_minor ? "denied exactly one window after" : "wrongly denied: an exact log would allow";
  if (is_minor && !is_back) title += ", where an exact log would allow";
  if (is_back) title += ", if the clock steps back";
  section.push_back(Heading{{title, is_minor ? Tone::kWarning : Tone::kBad}});
  section.push_back(schedule_rows(*wrong, plan));
  if (!is_minor) return;
  section.push_back(
      Sentence{"edge", result.edge_agrees
                           ? "the limiter denies exactly one window after a unit, where an exact "
                             "log allows, and allows a moment later: it compares with > instead "
                             "of >=, or it rounds; no other denial differed in what was tried"
                           : "found such denials only exactly one window after a unit; whether "
                             "they end there was not established"});
}

/// The section about a limiter whose requests were searched: its worst schedules and verdict.
Section findings(const Report& report, const Run& run, const Judgement& judgement,
                 const script::Candidate& candidate) {
  const auto& search = *run.search();
  const auto& result = search.result;
  Section section{heading_of(run, judgement)};
  if (result.most.schedule.empty()) return section;
  section.push_back(schedule_rows(result.most, report.plan));
  for (const auto& remark : judgement.remarks) section.push_back(remark.sentence);
  if (const auto& most = result.most_stepping_back) {
    section.push_back(Heading{"if the clock steps back", finding_verdict(*most, search)});
    section.push_back(schedule_rows(*most, report.plan));
  }
  if (candidate.algorithm == nullptr || candidate.algorithm->is_exact) {
    add_denied(section, result, report.plan);
  }
  return section;
}

}  // namespace

trial::Document make_document(const Report& report) {
  const auto& plan = report.plan;
  auto document = begin_document(report, {traffic_fact(report)}, about_text(plan));
  const auto judgements = judge_runs(report);
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const auto& candidate = plan.candidates[i];
    document.sections.push_back(
        i >= report.runs.size()
            ? Section{Heading{{escaped_message(name_of(candidate)), Tone::kLabel},
                              trial::nothing_is_known("interrupted")}}
        : has_holders(plan) ? holder_findings(report, report.runs[i], candidate)
                            : findings(report, report.runs[i], judgements[i], candidate));
  }
  if (has_holders(plan)) return document;
  auto& last = document.sections.back();
  last.push_back(Fact{"times", trial::kFromWindow, {instant_text(search_base(plan))}});
  if (plan.search()->exhaustive) {
    last.push_back(Sentence{"critical", std::string(kCriticalTimes)});
  }
  document.plot = make_plot(report, judgements);
  return document;
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
