#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "adversary/leases.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/lint/plan.h"
#include "cli/options/lease_options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "traffic/pattern.h"
#include "traffic/template.h"

namespace rlctl::cli::lint {
namespace {

using adversary::LeaseFinding;
using std::chrono::microseconds;
using traffic::Event;

/// "h1 acquires; after 10 s: h2 releases (never held); ...", in which `has_note` is set if a
/// release is about somebody who has no lease.
std::string words_of(const LeaseFinding& finding, const limiter::Limit& limit, bool& has_note) {
  const auto steps = adversary::lease_steps_of(finding.schedule, finding.answers, limit);
  std::string text;
  std::optional<microseconds> last;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& request = finding.schedule[i];
    if (!text.empty()) text += "; ";
    const auto after = request.at - finding.schedule.front().at;
    if (last.value_or(microseconds{0}) != after)
      text += fmt::format("after {}: ", span_text(after));
    last = after;
    text += fmt::format("{} {}s", traffic::holder_name(request.holder),
                        traffic::event_name(request.event));
    if (request.event != Event::kRelease && !finding.answers[i].allowed) text += " and is denied";
    if (!steps[i].note.empty()) text += fmt::format(" ({})", steps[i].note);
    has_note |= request.event == Event::kRelease && !steps[i].note.empty();
  }
  return text;
}

/// The trial of a limiter, and what it needs.
struct LeaseTrial {
  adversary::TrialKeys keys;
  std::unique_ptr<traffic::Script> script;
  std::optional<redis::Connection> connection;
  std::optional<exec::ProgramDecider> program;
  std::unique_ptr<adversary::Trial> trial;
};

}  // namespace

Observed observe_leases(const Subject& subject, Connector& connector,
                        const exec::Settings& settings, const Invocation& invocation) {
  constexpr microseconds kTolerance{20'000}, kTick{1'000};
  constexpr std::int64_t kBudget = 10'000;
  const auto& candidate = subject.candidate;
  const auto& limit = candidate.limits.front();
  LeaseTrial limiter;
  if (candidate.program) {
    limiter.program.emplace(candidate, limiter.keys, settings);
    limiter.trial = std::make_unique<adversary::ForgetfulTrial>(*limiter.program);
  } else {
    limiter.connection.emplace(connector.open());
    limiter.script = traffic::make_script(candidate, limiter.keys, "");
    limiter.trial = std::make_unique<adversary::ScriptTrial>(
        *limiter.connection, *limiter.script,
        adversary::StateScope{.server = connector.private_server(),
                              .ttl_tolerance = std::min(kTolerance, limit.window / 10)});
  }
  const auto* time = candidate.foreign ? coarsest_time(*candidate.foreign) : nullptr;
  const auto tick = std::min(limit.window, std::max(kTick, clock_tick_of(candidate)));
  constexpr microseconds kStart{1'767'225'600'000'000};
  Progress progress(is_terminal(STDERR_FILENO));
  const auto result = adversary::search_leases(
      *limiter.trial,
      {.limit = limit,
       .renews = takes_renewals(candidate),
       .budget = std::max(kBudget, 100 * limit.limit),
       .base = traffic::window_from(kStart, limit),
       .tick = tick},
      invocation.interrupt, [&](std::int64_t sent, std::int64_t of, std::int64_t) {
        progress.update(std::min(1.0, static_cast<double>(sent) / static_cast<double>(of)),
                        fmt::format("{} events", grouped(of)));
      });
  progress.clear();
  if (result.interrupted) throw Interrupted();
  if (limiter.program) limiter.program->finish();
  rlctl::lint::LeaseObservation seen{.limit = limit.limit, .held = result.held};
  if (result.overfilled) {
    seen.overfilled = words_of(*result.overfilled, limit, seen.is_by_release);
  }
  bool ignored = false;
  const bool allows_nothing = result.held == 0;  // which is hardly because leases do not end
  if (result.leak && !allows_nothing) seen.leak = words_of(*result.leak, limit, ignored);
  seen.is_for_ever = result.leaks_for_ever;
  if (time != nullptr) seen.clock = fmt::format("{{{}}}", time->name);
  Observed observed{.findings = find_lease_flaws(seen), .requests = result.requests_sent};
  observed.tested.emplace_back("acquires by new holders, and again by the same");
  observed.tested.emplace_back(
      "releases, also repeated, after the lease had ended, and by holders without a lease");
  observed.tested.push_back(
      fmt::format("holders that die; and, after {}, new ones who ask for all slots",
                  span_text(result.settles)));
  if (takes_renewals(candidate)) {
    observed.tested.emplace_back("renewals, also after the lease had ended");
  }
  if (allows_nothing) {
    const std::string why =
        candidate.foreign ? ": see --allowed-when for how to read the reply" : "";
    observed.not_tested.push_back({"what becomes of leases", "nothing was allowed" + why});
  }
  return observed;
}

}  // namespace rlctl::cli::lint
