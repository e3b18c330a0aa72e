#include "cli/commands/adversary/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "adversary/holdings.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/options/holder_options.h"
#include "cli/trial/findings.h"
#include "cli/trial/holder_report.h"
#include "cli/trial/holders.h"
#include "cli/trial/report.h"
#include "cli/trial/wording.h"
#include "script/template.h"

namespace rlctl::cli::adversary {
namespace {

using rlctl::adversary::HoldingFinding;
using rlctl::adversary::HoldingStep;
using std::chrono::microseconds;
using trial::Heading;
using trial::kUndecided;
using trial::Plan;
using trial::Report;
using trial::ReportFormat;
using trial::Rows;
using trial::Run;
using trial::Section;
using trial::Sentence;
using trial::Text;

/// The leases, or the units, that may be held at once.
std::int64_t limit_of(const Plan& plan) {
  return plan.limits.front().limit;
}

/// The part of a search for leases or reservations that follows from the plan alone.
rlctl::adversary::HoldingSearch holder_search_of(const Plan& plan, bool is_exact) {
  return {.limit = plan.limits.front(),
          .has_leases = !plan.reserve,
          .units = plan.reserve.value_or(1),
          .hold = plan.budget.spend.hold,
          .is_exact = is_exact};
}

/// "3 held at once, 1 more than the limit; 5 in longer schedules"
std::string overfilled_text(const rlctl::adversary::HoldingSearchResult& result, const Plan& plan) {
  auto text = exceeded_text(plan, result.overfilled->score.held);
  if (result.held > result.overfilled->score.held) {
    text += fmt::format("; {} in longer schedules", result.held);
  }
  return text;
}

std::string leak_text(const HoldingFinding& finding, const Plan& plan, bool is_for_ever) {
  const auto leaked = finding.score.leaked;
  if (plan.reserve) {
    const auto units = finding.schedule.back().cost;
    const auto used = limit_of(plan) - units - leaked + 1;
    return fmt::format(
        "a reserve of {} is denied, although {} spent or held{}", counted(units, "unit"),
        used == 0 ? "none is"
                  : fmt::format("only {} of {} {}", used, limit_of(plan), used == 1 ? "is" : "are"),
        !is_for_ever              ? ""
        : units == limit_of(plan) ? ", even a year later"
                                  : "; some units are lost even a year later");
  }
  const std::string_view them = leaked == 1 ? "it" : "them";
  return fmt::format("{} lost: nobody has {}, and nobody gets {}{}", counted(leaked, "slot"), them,
                     them, is_for_ever ? ", not even a year later" : "");
}

/// What an event takes or states; 0 of a lease.
std::int64_t units_of(const rlctl::adversary::Request& request) {
  return request.event == traffic::Event::kSettle ? request.actual : request.cost;
}

/// A sentence about what an exhaustive search has proved of leases or reservations; empty after any
/// other search.
std::string proof_of(const rlctl::adversary::HoldingSearchResult& result, const Plan& plan) {
  return trial::proof_text(plan, {.tried = result.tried,
                                  .undecided = result.undecided,
                                  .is_interrupted = result.interrupted,
                                  .fails = result.overfilled || result.leak,
                                  .claim = fmt::format("{} more than {} or loses a {}",
                                                       plan.reserve ? "spends and holds" : "holds",
                                                       limit_of(plan), holder_words(plan).unit)});
}

/// A row for each event.
Rows event_rows(const HoldingFinding& finding, const Plan& plan,
                const script::Candidate& candidate) {
  const auto steps = holder_steps_of(finding, plan, candidate.is_bundled());
  Rows table{
      .rows = {{"at", plan.reserve ? "reservation" : "holder", "event", plan.reserve ? "units" : "",
                "answer", plan.reserve ? "spent" : "", "held", ""}},
      .most = kMostSteps};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& request = finding.schedule[i];
    // A script's answers to releases and settles are not read.
    const bool is_told = !simulation::gives_back(request.event) || candidate.is_bundled() ||
                         candidate.program != nullptr;
    const auto& spent = steps[i].spent;
    table.rows.push_back(
        {trial::exact_offset_text(request.at - search_base(plan)),
         simulation::holder_name(request.event, request.holder), traffic::event_name(request.event),
         spent ? fmt::to_string(units_of(request)) : "",
         !is_told                     ? ""
         : finding.answers[i].allowed ? "allowed"
                                      : "denied",
         spent ? fmt::to_string(*spent) : "", fmt::to_string(steps[i].held), steps[i].note});
  }
  return table;
}

}  // namespace

void require_holder_search(const Plan& plan) {
  if (writes(plan, ReportFormat::kSvg)) {
    throw UsageError("-o *.svg: a schedule of holders has no picture");
  }
  trial::require_no_page(plan);
}

void require_conclusive_holders(const Plan& plan) {
  const auto limit = limit_of(plan);
  const auto& events = plan.search()->exhaustive;
  if (plan.reserve && *plan.reserve > limit) {
    throw UsageError(fmt::format("--reserve: {} do not fit a limit of {}",
                                 counted(*plan.reserve, "unit"), limit));
  }
  if (!plan.reserve && events && *events <= limit) {
    throw UsageError(fmt::format("--exhaustive: {} cannot hold more than {}, so nothing would be "
                                 "proved",
                                 counted(*events, "event"), counted(limit, "lease")),
                     "use fewer leases and more events: --concurrency 2 --exhaustive 5");
  }
  const auto hold = plan.reserve ? plan.budget.spend.hold : plan.leases.lease;
  const auto window = plan.limits.front().window;
  const auto latest =
      rlctl::adversary::latest_time(plan.reserve ? window + 2 * hold : window, events);
  if (search_base(plan) + latest <= limiter::kLatestNow) return;
  throw UsageError(
      fmt::format(
          "{}: the search needs {} before the year 2096, where the times of the scripts end",
          plan.reserve ? "--hold" : "--lease", span_text(latest)),
      "use a shorter time");
}

rlctl::adversary::HoldingSearch holder_request_of(const script::Candidate& candidate,
                                                  const Plan& plan) {
  auto search = holder_search_of(plan, candidate.is_bundled());
  search.renews = takes_renewals(candidate);
  search.tries = plan.search()->tries;
  search.exhaustive = plan.search()->exhaustive;
  search.seed = plan.request.seed;
  search.base = search_base(plan);
  const auto longest = plan.reserve ? search.hold : plan.leases.lease;
  search.tick = std::clamp(clock_tick_of(candidate), microseconds{1}, longest);
  return search;
}

std::vector<HoldingStep> holder_steps_of(const HoldingFinding& finding, const Plan& plan,
                                         bool is_exact) {
  return rlctl::adversary::holding_steps_of(finding.schedule, finding.answers,
                                            holder_search_of(plan, is_exact));
}

Section holder_findings(const Report& report, const Run& run, const script::Candidate& candidate) {
  const auto& plan = report.plan;
  const auto& result = run.holder_search()->result;
  const Text name(shown_name(run), Tone::kLabel);
  if (result.requests_sent == 0 || (result.interrupted && result.held == 0)) {
    return {Heading{name, trial::nothing_is_known("interrupted")}};
  }
  Section section;
  const auto add = [&](const HoldingFinding& finding, const std::string& verdict) {
    section.push_back(Heading{name, {verdict, Tone::kBad}});
    section.push_back(event_rows(finding, plan, candidate));
  };
  if (result.held == 0) {
    section.push_back(Heading{name, {trial::kAllowsNothing, Tone::kBad}});
  } else if (!result.overfilled && !result.leak) {
    section.push_back(Heading{name,
                              {fmt::format("at most {} of {} {}{}", result.held, limit_of(plan),
                                           plan.reserve ? "units spent and held, none lost"
                                                        : "held at once, no slot lost",
                                           result.interrupted ? " so far" : ""),
                               Tone::kGood}});
  }
  if (const auto& finding = result.overfilled) add(*finding, overfilled_text(result, plan));
  if (const auto& finding = result.leak) {
    add(*finding, leak_text(*finding, plan, result.leaks_for_ever));
  }
  if (run.hint) section.push_back(Sentence{"hint", *run.hint});
  if (result.tried) {
    section.push_back(Sentence{"proof", proof_of(result, plan)});
  } else if (result.undecided > 0) {
    section.push_back(
        Sentence{"left out",
                 fmt::format("skipped {} {}", counted(result.undecided, "schedule"), kUndecided)});
  }
  return section;
}

}  // namespace rlctl::cli::adversary
