#include "cli/commands/adversary/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "adversary/holdings.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/options/holder_options.h"
#include "cli/terminal/table.h"
#include "cli/trial/findings.h"
#include "cli/trial/holders.h"
#include "cli/trial/report.h"
#include "cli/trial/text.h"
#include "traffic/template.h"

namespace rlctl::cli::adversary {
namespace {

using rlctl::adversary::HoldingFinding;
using rlctl::adversary::HoldingStep;
using std::chrono::microseconds;
using trial::kUndecided;
using trial::Plan;
using trial::Report;
using trial::ReportFormat;
using trial::Run;

/// The leases, or the units, that may be held at once.
std::int64_t limit_of(const Plan& plan) {
  return plan.limits.front().limit;
}

/// What a search is about.
rlctl::adversary::HoldingSearch holder_search_of(const Plan& plan, bool is_exact) {
  return {.limit = plan.limits.front(),
          .has_leases = !plan.reserve,
          .units = plan.reserve.value_or(1),
          .hold = plan.budget.spend.hold,
          .is_exact = is_exact};
}

/// "3 held at once, 1 more than the limit"
std::string overfilled_text(const HoldingFinding& finding, const Plan& plan) {
  const auto held = finding.score.held;
  return fmt::format("{} {}, {} more than the limit", held,
                     plan.reserve ? "units spent and held" : "held at once", held - limit_of(plan));
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
  return trial::proof_text(
      plan, {.tried = result.tried,
             .undecided = result.undecided,
             .is_interrupted = result.interrupted,
             .fails = result.overfilled || result.leak,
             .claim = fmt::format("{} more than {} or loses a {}",
                                  plan.reserve ? "spends and holds" : "holds", limit_of(plan),
                                  plan.reserve ? "unit" : "slot")});
}

/// Appends the findings about one limiter.
class HolderText {
 public:
  HolderText(std::string& out, const Report& report, const Look& look,
             const traffic::Candidate& candidate)
      : out_(out),
        plan_(report.plan),
        look_(look),
        is_bundled_(candidate.is_bundled()),
        is_program_(candidate.program != nullptr) {}

  void append(std::string_view name, const Run* run) {
    out_ += '\n';
    const auto* search =
        run != nullptr && run->holder_search() ? &run->holder_search()->result : nullptr;
    if (search == nullptr || search->requests_sent == 0 ||
        (search->interrupted && search->held == 0)) {
      return title(name, "nothing is known: interrupted", Tone::kWarning);
    }
    const auto& result = *search;
    if (result.held == 0) {
      title(name, "allowed nothing", Tone::kBad);
    } else if (!result.overfilled && !result.leak) {
      title(name,
            fmt::format(
                "at most {} of {} {}{}", result.held, limit_of(plan_),
                plan_.reserve ? "units spent and held, none lost" : "held at once, no slot lost",
                result.interrupted ? " so far" : ""),
            Tone::kGood);
    }
    if (const auto& finding = result.overfilled) {
      auto text = overfilled_text(*finding, plan_);
      if (result.held > finding->score.held) {
        text += fmt::format("; {} in longer schedules", result.held);
      }
      title(name, text, Tone::kBad);
      append_steps(*finding);
    }
    if (const auto& finding = result.leak) {
      title(name, leak_text(*finding, plan_, result.leaks_for_ever), Tone::kBad);
      append_steps(*finding);
    }
    if (run->hint) sentence("hint", *run->hint);
    if (result.tried) {
      sentence("proof", proof_of(result, plan_));
    } else if (result.undecided > 0) {
      sentence("left out",
               fmt::format("skipped {} {}", counted(result.undecided, "schedule"), kUndecided));
    }
  }

 private:
  void title(std::string_view name, const std::string& text, Tone tone) {
    const auto shown = escaped_text(name);
    const auto fits = display_width(shown) + 2 + text.size() <= look_.columns;
    out_ += toned(shown, Tone::kLabel, look_.colour);
    out_ += fits ? "  " : "\n  ";
    out_ += toned(text, tone, look_.colour) + '\n';
  }
  void sentence(std::string_view label, std::string_view text) {
    trial::append_sentence(out_, label, text, look_);
  }

  /// One row per event.
  void append_steps(const HoldingFinding& finding) {
    constexpr std::size_t kMaxRows = 20;
    const auto steps = holder_steps_of(finding, plan_, is_bundled_);
    const auto shown = std::min(steps.size(), kMaxRows);
    std::vector<Cells> rows{{"at", plan_.reserve ? "reservation" : "holder", "event",
                             plan_.reserve ? "units" : "", "answer", plan_.reserve ? "spent" : "",
                             "held", ""}};
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& request = finding.schedule[i];
      const bool is_told = !traffic::gives_back(request.event) || is_bundled_ || is_program_;
      const auto& spent = steps[i].spent;
      rows.push_back({trial::exact_offset_text(request.at - search_base(plan_)),
                      traffic::holder_name(request.event, request.holder),
                      std::string(traffic::event_name(request.event)),
                      spent ? fmt::to_string(units_of(request)) : "",
                      !is_told                     ? ""
                      : finding.answers[i].allowed ? "allowed"
                                                   : "denied",
                      spent ? fmt::to_string(*spent) : "", fmt::to_string(steps[i].held),
                      std::string(steps[i].note)});
    }
    trial::append_rows(out_, rows, look_);
    if (steps.size() > shown) {
      out_ += fmt::format("  and {} more; --json lists all\n", steps.size() - shown);
    }
  }

  std::string& out_;
  const Plan& plan_;
  const Look& look_;
  /// A script's answers to releases and settles are not read.
  bool is_bundled_, is_program_;
};

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

rlctl::adversary::HoldingSearch holder_request_of(const traffic::Candidate& candidate,
                                                  const Plan& plan) {
  auto search = holder_search_of(plan, candidate.is_bundled());
  search.renews = takes_renewals(candidate);
  search.tries = plan.search()->tries;
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

void append_holder_search(std::string& out, const Report& report, const Look& look) {
  const auto& plan = report.plan;
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    HolderText text(out, report, look, plan.candidates[i]);
    text.append(name_of(plan.candidates[i]), i < report.runs.size() ? &report.runs[i] : nullptr);
  }
  out += '\n';
}

}  // namespace rlctl::cli::adversary
