#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "adversary/holdings.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/lint/plan.h"
#include "cli/commands/lint/probes.h"
#include "cli/options/holder_options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "script/template.h"
#include "traffic/pattern.h"

namespace rlctl::cli::lint {
namespace {

using rlctl::adversary::HoldingFinding;
using std::chrono::microseconds;
using traffic::Event;

using Steps = std::vector<rlctl::adversary::HoldingStep>;

/// "h1 acquires; after 10 s: h2 releases (never held); ...", or "r1 reserves 10; r1 settles 0
/// (hold had ended); ...".
std::string words_of(const HoldingFinding& finding, const Steps& steps) {
  std::string text;
  auto last = finding.schedule.front().at;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& request = finding.schedule[i];
    const bool gives_back = simulation::gives_back(request.event);
    if (i > 0) text += "; ";
    if (request.at != last) {
      text += fmt::format("after {}: ", span_text(request.at - finding.schedule.front().at));
    }
    last = request.at;
    text += fmt::format("{} {}s", simulation::holder_name(request.event, request.holder),
                        traffic::event_name(request.event));
    if (traffic::is_of_reservation(request.event)) {
      text += fmt::format(" {}", gives_back ? request.actual : request.cost);
    }
    if (!gives_back && !finding.answers[i].allowed) text += " and is denied";
    if (!steps[i].note.empty()) text += fmt::format(" ({})", steps[i].note);
  }
  return text;
}

/// Whether a release or a settle is about something that its holder does not have.
bool gives_back_wrongly(const HoldingFinding& finding, const Steps& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (simulation::gives_back(finding.schedule[i].event) && !steps[i].note.empty()) return true;
  }
  return false;
}

LimiterTrial try_limiter(const script::Candidate& candidate, const exec::Settings& settings,
                         const Interrupt& interrupt) {
  if (!candidate.program) return {candidate, interrupt};
  return LimiterTrial([&](const traffic::Traffic& names) {
    return std::make_unique<exec::ProgramDecider>(candidate, names, settings);
  });
}

/// How many events a search sends; one of many leases sends more.
constexpr std::int64_t kTries = 10'000;

/// What is searched of a limiter, whose holders keep something for `hold`.
rlctl::adversary::HoldingSearch search_of(const script::Candidate& candidate, microseconds hold) {
  constexpr microseconds kTick{1'000}, kStart{1'767'225'600'000'000};
  const auto& limit = candidate.limits.front();
  return {.limit = limit,
          .renews = takes_renewals(candidate),
          .hold = hold,
          .tries = kTries,
          .base = traffic::window_from(kStart, limit),
          .tick = std::min(hold, std::max(kTick, clock_tick_of(candidate)))};
}

/// Shows the progress on stderr while it runs, and clears it.
rlctl::adversary::HoldingSearchResult search_with_progress(
    rlctl::adversary::Trial& trial, const rlctl::adversary::HoldingSearch& search,
    const Interrupt& interrupt) {
  Progress progress(is_terminal(STDERR_FILENO));
  const auto show = [&](std::int64_t /*sent*/, double share, std::int64_t /*held*/) {
    progress.update(std::min(1.0, share), fmt::format("{} events", grouped(search.tries)));
  };
  auto result = rlctl::adversary::search_holdings(trial, search, interrupt, show);
  progress.clear();
  if (result.interrupted) throw Interrupted();
  return result;
}

void note_nothing_allowed(Observed& observed, const script::Candidate& candidate,
                          std::string what) {
  const std::string why = candidate.foreign ? ": see --allowed-when for how to read the reply" : "";
  observed.not_tested.push_back({std::move(what), "nothing was allowed" + why});
}

}  // namespace

Observed observe_leases(const Subject& subject, const exec::Settings& settings,
                        const Interrupt& interrupt) {
  const auto& candidate = subject.candidate;
  const auto& limit = candidate.limits.front();
  auto limiter = try_limiter(candidate, settings, interrupt);
  const auto* time = candidate.foreign ? coarsest_time(*candidate.foreign) : nullptr;
  auto search = search_of(candidate, limit.window);
  search.has_leases = true;
  search.tries = std::max(kTries, 100 * limit.limit);
  const auto result = search_with_progress(limiter.trial(), search, interrupt);
  limiter.finish();
  rlctl::lint::LeaseObservation seen{.limit = limit.limit, .held = result.held};
  const auto steps_of = [&](const HoldingFinding& found) {
    return rlctl::adversary::holding_steps_of(found.schedule, found.answers, search);
  };
  if (const auto& found = result.overfilled) {
    const auto steps = steps_of(*found);
    seen.overfilled = words_of(*found, steps);
    seen.is_by_release = gives_back_wrongly(*found, steps);
  }
  const bool allows_nothing = result.held == 0;  // which is hardly because leases do not end
  if (result.leak && !allows_nothing) seen.leak = words_of(*result.leak, steps_of(*result.leak));
  seen.is_for_ever = result.leaks_for_ever;
  if (time != nullptr) seen.clock = fmt::format("{{{}}}", time->name);
  Observed observed{.findings = find_lease_flaws(seen), .requests = result.requests_sent};
  observed.tested.emplace_back("acquires by new holders, and again by the same");
  observed.tested.emplace_back(
      "releases, also repeated, after the lease had ended, and by holders without a lease");
  observed.tested.push_back(fmt::format(
      "holders that die; and, after {}, new ones who ask for all slots", span_text(result.grace)));
  if (takes_renewals(candidate)) {
    observed.tested.emplace_back("renewals, also after the lease had ended");
  }
  if (allows_nothing) note_nothing_allowed(observed, candidate, "what becomes of leases");
  return observed;
}

Observed observe_budget(const Subject& subject, const Plan& plan, const exec::Settings& settings,
                        const Interrupt& interrupt) {
  const auto& candidate = subject.candidate;
  const auto& limit = candidate.limits.front();
  auto search = search_of(candidate, plan.hold);
  search.units = *plan.reserve;
  search.is_exact = candidate.is_bundled();
  auto limiter = try_limiter(candidate, settings, interrupt);
  const auto result = search_with_progress(limiter.trial(), search, interrupt);
  const rlctl::adversary::Request reserve{.at = search.base,
                                          .cost = search.units,
                                          .event = Event::kReserve,
                                          .holder = 1,
                                          .hold = search.hold};
  auto settle = reserve;
  settle.event = Event::kSettle;
  settle.actual = reserve.cost;
  const bool allows_nothing = result.held == 0;
  rlctl::lint::BudgetObservation seen{.limit = limit.limit, .used = result.held};
  if (const auto& found = result.overfilled) {
    const auto steps = rlctl::adversary::holding_steps_of(found->schedule, found->answers, search);
    seen.overfilled = words_of(*found, steps);
    seen.is_held = steps.back().held > limit.limit;
    seen.is_by_settle = gives_back_wrongly(*found, steps);
  }
  if (const auto& found = result.leak; found && !allows_nothing) {
    const auto steps = rlctl::adversary::holding_steps_of(found->schedule, found->answers, search);
    seen.leak = words_of(*found, steps);
    seen.is_repeated =
        std::ranges::any_of(steps, [](const auto& step) { return step.note == "settled before"; });
    seen.is_for_ever = result.leaks_for_ever;
  }
  // A late settle may write a key anew that has expired.
  auto late = settle;
  late.at += search.hold + limit.window + result.grace;
  const auto leaves_key = [&](const rlctl::adversary::Schedule& schedule) {
    return !allows_nothing && limiter.trial().leaves_endless_key(schedule);
  };
  const bool is_soon = leaves_key({reserve}) || leaves_key({reserve, settle});
  if (is_soon || leaves_key({reserve, late})) {
    seen.endless_key =
        fmt::format("r1 reserves {0} and settles {0}{1}", search.units,
                    is_soon ? "" : fmt::format(", {} later", span_text(late.at - reserve.at)));
  }
  limiter.finish();
  Observed observed{.findings = find_budget_flaws(seen), .requests = result.requests_sent};
  observed.tested.push_back(fmt::format(
      "reservations of {} and of up to {} units, also asked for again", search.units, limit.limit));
  observed.tested.emplace_back(
      "settles with nothing, less, as much and more; also repeated, after the hold had ended, and "
      "without a reservation");
  observed.tested.push_back(
      fmt::format("holders that die; and, after {}, one who asks for the whole limit",
                  span_text(result.grace + limit.window)));
  if (!candidate.program) observed.tested.emplace_back("whether keys expire");
  if (allows_nothing) note_nothing_allowed(observed, candidate, "what becomes of reservations");
  if (candidate.foreign && !tells_cost(*candidate.foreign)) {
    observed.warnings.emplace_back(
        "it is not told how many units are reserved; if it can be, put {cost} in --args");
  }
  return observed;
}

}  // namespace rlctl::cli::lint
