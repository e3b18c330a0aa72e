#include "cli/commands/adversary/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "adversary/holdings.h"
#include "adversary/sample.h"
#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/adversary/holders.h"
#include "cli/errors/failure.h"
#include "cli/server/programs.h"
#include "cli/trial/hints.h"
#include "cli/trial/limiter_trial.h"
#include "cli/trial/session.h"
#include "exec/program.h"
#include "simulation/engine.h"
#include "simulation/measurement.h"
#include "simulation/virtual_run.h"

namespace rlctl::cli::adversary {
namespace {

using std::chrono::microseconds;
using trial::LimiterTrial;
using trial::Plan;
using trial::Report;
using trial::Run;
using trial::SearchFindings;
using trial::SearchPlan;

/// See SearchFindings::clock.
const script::Placeholder* clock_of(const script::Candidate& candidate, microseconds window) {
  constexpr int kTicksOfWindow = 100;
  constexpr microseconds kExact{1};
  if (!candidate.foreign || names_time(*candidate.foreign)) return nullptr;
  const auto* clock = finest_time(*candidate.foreign);
  const bool is_used =
      clock != nullptr && clock->tick > kExact && kTicksOfWindow * clock->tick <= window;
  return is_used ? clock : nullptr;
}

/// The coarsest unit in which the limiter is told the time, or in which its keys expire; 0 if it is
/// told neither.
microseconds coarsest_unit(const script::Candidate& candidate, const script::Script* script) {
  constexpr microseconds kOfTtls{1000};
  const auto* time = candidate.foreign ? coarsest_time(*candidate.foreign) : nullptr;
  const bool has_ttls = script != nullptr && script->key_of_ttls();
  return std::max(time != nullptr ? time->tick : microseconds{0},
                  has_ttls ? kOfTtls : microseconds{0});
}

/// The outcome of a finding's schedule. The measurement knows no refunds.
simulation::Outcome outcome_of(const rlctl::adversary::Finding& finding, const Plan& plan) {
  const auto& schedule = finding.schedule;
  const auto& answers = finding.answers;
  const simulation::OnDecision no_callback;
  simulation::OutcomeRecorder recorder(plan.limits, no_callback, false, search_base(plan));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto& asked = schedule[i];
    if (asked.cost < 0) continue;
    recorder.add({.at = asked.at, .cost = asked.cost}, {.allowed = answers[i].allowed,
                                                        .remaining = limiter::kNotTold,
                                                        .retry_after = limiter::kTimeNotTold,
                                                        .reset_after = limiter::kTimeNotTold,
                                                        .delay = answers[i].delay});
  }
  return recorder.finish(true);
}

/// See search_plan().
class Searches {
 public:
  Searches(Report& report, Invocation& invocation)
      : report_(report),
        plan_(report.plan),
        search_(*report.plan.search()),
        session_(report.plan, invocation) {}

  void run() {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report_.interrupted; ++i) {
      report_.runs.push_back(search(i));
      const auto& run = report_.runs.back();
      report_.interrupted = report_.interrupted || run.outcome.interrupted;
      if (run.hint) session_.warn(fmt::format("{}: {}", run.name, *run.hint));
    }
  }

 private:
  /// Callbacks that show the progress of the search against limiter `number`: how much was tried,
  /// and the most that was found so far.
  rlctl::adversary::OnProgress on_progress(std::size_t number, std::string_view what,
                                           std::string_view most) {
    return [=, this](std::int64_t tried, double share, std::int64_t found) {
      const auto name = escaped_message(name_of(plan_.candidates[number]));
      session_.show(number, share,
                    fmt::format("the search; {}: {} {}, {} {}", name, grouped(tried),
                                search_.exhaustive ? "schedules" : what, most, found));
    };
  }

  Run search(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    Run run{.name = std::string(name_of(candidate)), .is_bundled = candidate.is_bundled()};
    auto limiter = try_limiter(candidate);
    if (limiter.script() != nullptr) session_.warn_of_change(*limiter.script());
    std::optional<rlctl::adversary::SampledTrial> sampled;
    if (limiter.engine() != nullptr) sampled.emplace(limiter.trial(), plan_.request.seed);
    auto& trial = sampled ? *sampled : limiter.trial();
    if (has_holders(plan_)) {
      search_holders(run, number, limiter, trial);
    } else {
      search_requests(run, number, limiter, trial);
    }
    if (sampled) confirm(run, candidate, sampled->sample());
    session_.progress().clear();  // cleaning up may write a warning
    return run;
  }

  LimiterTrial try_limiter(const script::Candidate& candidate) {
    const bool reserves = plan_.reserve.has_value();
    if (candidate.program) {
      return LimiterTrial([&](const traffic::Traffic& names) {
        return std::make_unique<exec::ProgramDecider>(candidate, names, session_.programs());
      });
    }
    if (plan_.model && (reserves || candidate.is_bundled_lease())) {
      return LimiterTrial(std::make_unique<rlctl::adversary::HolderModelTrial>(
          candidate.limits.front(), !reserves));
    }
    if (plan_.model) {
      return LimiterTrial(std::make_unique<rlctl::adversary::ModelTrial>(candidate));
    }
    if (session_.place() == trial::ScriptPlace::kClocked) {
      return LimiterTrial(
          [&](const traffic::Traffic& names) { return session_.clocked(candidate, names); });
    }
    if (auto* const server = session_.server()) return {candidate, *server};
    return {candidate, session_.interrupt()};
  }

  /// Lets a server repeat what was found, and schedules that the search tried.
  void confirm(const Run& run, const script::Candidate& candidate,
               std::vector<rlctl::adversary::Answered> schedules) {
    if (run.outcome.interrupted) return;
    const auto add = [&](const auto* finding) {
      if (!finding->schedule.empty()) schedules.push_back({finding->schedule, finding->answers});
    };
    if (has_holders(plan_)) {
      std::ranges::for_each(run.holder_search()->result.findings(), add);
    } else {
      std::ranges::for_each(run.search()->result.findings(), add);
    }
    session_.confirmer().confirm(candidate, schedules);
    session_.report_confirmation(report_);
  }

  void search_requests(Run& run, std::size_t number, LimiterTrial& limiter,
                       rlctl::adversary::Trial& trial) {
    const auto& candidate = plan_.candidates[number];
    auto& findings = run.found.emplace<SearchFindings>();
    findings.limit = plan_.limits.front();
    findings.clock = clock_of(candidate, findings.limit.window);
    const auto unit = coarsest_unit(candidate, limiter.script());
    findings.result = find_schedules(number, trial, findings.tick(), unit);
    if (!findings.result.interrupted) {
      if (!candidate.is_bundled()) probe(candidate, trial, findings);
      limiter.finish();
    }
    const auto& most = findings.result.most;
    std::int64_t highest_cost = 1;
    for (const auto& request : most.schedule) {
      highest_cost = std::max(highest_cost, request.cost);
      findings.has_refunds |= request.cost < 0;
    }
    run.outcome = outcome_of(most, plan_);
    auto& measured = run.outcome.measured;
    if (!findings.has_refunds) run.why = trial::why_of(candidate, measured, highest_cost, true);
    measured.worst.allowed = most.score.worst;
    measured.worst.from = most.score.worst_from;
    measured.worst.span = most.score.worst_span;
    measured.worst.ratio = findings.ratio_of(most);
    measured.denied_after = findings.result.denied_after;
    run.outcome.interrupted = findings.result.interrupted;
    run.outcome.replies = limiter.replies();
    run.hint = reply_hint(run, candidate, plan_.costs == std::vector<std::int64_t>{1});
    const auto& wrong = findings.result.wrongly_denied;
    if (wrong && candidate.program && !run.hint && !run.outcome.interrupted) {
      auto denied = wrong->schedule;
      denied.resize(wrong->score.wrongly_denied.front() + 1);
      const auto hint = own_clock_hint(candidate, session_.programs(), denied);
      if (hint != "") run.hint = hint;
    }
  }

  /// Finds out what a clock that is ahead does to the limiter. For the bundled algorithms this is
  /// known.
  void probe(const script::Candidate& candidate, rlctl::adversary::Trial& trial,
             SearchFindings& findings) const try {
    const rlctl::adversary::Ask ask = [&](const rlctl::adversary::Schedule& schedule) {
      findings.result.requests_sent += static_cast<std::int64_t>(schedule.size());
      return trial.run({&schedule, 1}).front();
    };
    const bool is_told = candidate.program || coarsest_time(*candidate.foreign) != nullptr;
    if (!is_told || !search_.steps_back()) return;
    findings.clock_ahead =
        rlctl::adversary::find_clock_ahead(findings.limit, search_base(plan_), ask);
  } catch (const Interrupted&) {
    findings.result.interrupted = true;
  }

  void search_holders(Run& run, std::size_t number, LimiterTrial& limiter,
                      rlctl::adversary::Trial& trial) {
    const auto request = holder_request_of(plan_.candidates[number], plan_);
    auto& findings = run.found.emplace<trial::HolderFindings>();
    auto& result = findings.result;
    findings.tick = request.tick;
    const std::string_view most = plan_.reserve ? "units" : "held";
    result = rlctl::adversary::search_holdings(trial, request, session_.interrupt(),
                                               on_progress(number, "events", most));
    if (!result.interrupted) limiter.finish();
    run.outcome.interrupted = result.interrupted;
    run.outcome.replies = limiter.replies();
    if (result.held == 0 && !result.interrupted) run.hint = trial::holders_hint(run);
  }

  rlctl::adversary::SearchResult find_schedules(std::size_t number, rlctl::adversary::Trial& trial,
                                                microseconds tick, microseconds clock_unit) {
    const rlctl::adversary::SearchRequest request{.limit = plan_.limits.front(),
                                                  .costs = plan_.costs,
                                                  .tries = search_.tries,
                                                  .seed = plan_.request.seed,
                                                  .base = search_base(plan_),
                                                  .tick = tick,
                                                  .clock_unit = clock_unit,
                                                  .steps_back = search_.steps_back(),
                                                  .exhaustive = search_.exhaustive};
    return rlctl::adversary::search(trial, request, session_.interrupt(),
                                    on_progress(number, "requests", "worst"));
  }

  Report& report_;
  const Plan& plan_;
  const SearchPlan& search_;
  trial::Session session_;
};

}  // namespace

void search_plan(Report& report, Invocation& invocation) {
  Searches(report, invocation).run();
}

}  // namespace rlctl::cli::adversary
