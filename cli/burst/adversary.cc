#include "cli/burst/adversary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "adversary/trial.h"
#include "cli/burst/adversary_report.h"
#include "cli/burst/command.h"
#include "cli/burst/server.h"
#include "cli/failure.h"
#include "cli/term/destination.h"
#include "cli/term/progress.h"
#include "cli/term/terminal.h"
#include "traffic/script.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

/// Searches begin in a future year, so that keys which a script lets expire at an instant of the
/// schedule live as long as the search.
constexpr microseconds kYearToCome{
    std::chrono::sys_days{std::chrono::year{2050} / 1 / 1}.time_since_epoch()};

/// By what a script is told the time; null where it is told in µs, and where a window is so short
/// that it makes no sense.
const traffic::Placeholder* rounding_of(const traffic::Candidate& candidate) {
  if (!candidate.foreign) return nullptr;
  const auto* told = coarsest_time(*candidate.foreign);
  const bool makes_sense = told != nullptr && told->tick <= candidate.limits.front().window;
  return makes_sense ? told : nullptr;
}

microseconds tick_of(const traffic::Candidate& candidate) {
  const auto* told = rounding_of(candidate);
  return told != nullptr ? told->tick : microseconds{1};
}

/// A multiple of the window, and of the ticks of those that are told the time in such.
microseconds base_for(const BurstPlan& plan) {
  auto step = plan.limits.front().window.count();
  for (const auto& candidate : plan.candidates) {
    step = std::lcm(step, tick_of(candidate).count());
  }
  return microseconds{(kYearToCome.count() + step - 1) / step * step};
}

class AdversarySession {
 public:
  AdversarySession(const BurstPlan& plan, Invocation& invocation, bool shows_progress)
      : plan_(plan), invocation_(invocation), progress_(shows_progress) {
    if (!plan.model) server_ = std::make_unique<BurstServer>(invocation);
  }

  /// Appends the runs to the report.
  void run(AdversaryReport& report) {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report.interrupted; ++i) {
      report.runs.push_back(run_one(i, report));
      report.interrupted = report.runs.back().result.interrupted;
    }
  }

 private:
  AdversaryRun run_one(std::size_t number, const AdversaryReport& report);
  [[nodiscard]] adversary::SearchResult search(adversary::Trial& trial, std::size_t number,
                                               const AdversaryReport& report);
  [[nodiscard]] adversary::SearchResult search_script(std::size_t number,
                                                      const AdversaryReport& report);

  [[nodiscard]] adversary::Preconditions premises_for(const traffic::Candidate& candidate,
                                                      std::string prefix) const;

  const BurstPlan& plan_;
  Invocation& invocation_;
  Progress progress_;
  std::unique_ptr<BurstServer> server_;
};

adversary::SearchResult AdversarySession::search(adversary::Trial& trial, std::size_t number,
                                                 const AdversaryReport& report) {
  const auto& candidate = plan_.candidates[number];
  const auto runs = static_cast<double>(plan_.candidates.size());
  const auto on_progress = [&](std::int64_t asked, std::int64_t of, std::int64_t worst) {
    const auto share = static_cast<double>(asked) / static_cast<double>(of);
    progress_.update((static_cast<double>(number) + std::min(share, 1.0)) / runs,
                     fmt::format("{} requests; {}: {} within a window",
                                 static_cast<std::int64_t>(runs) * of, name_of(candidate), worst));
  };
  return adversary::search(trial,
                           {.limit = report.limit(),
                            .cost = plan_.request.cost,
                            .budget = *plan_.adversary_budget,
                            .seed = plan_.request.seed,
                            .base = report.base,
                            .tick = tick_of(candidate)},
                           invocation_.interrupt, on_progress);
}

/// Of rlctl's own scripts it is known that all of their state is in their KEYS.
adversary::Preconditions AdversarySession::premises_for(const traffic::Candidate& candidate,
                                                        std::string prefix) const {
  using State = adversary::Preconditions::State;
  if (!candidate.foreign) return {};
  const auto state = server_->is_private() ? State::kOwnServer : State::kUnderPrefix;
  constexpr microseconds kTolerance{20'000};
  return {.state = state,
          .ttl_tolerance = std::min(kTolerance, plan_.limits.front().window / 10),
          .prefix = std::move(prefix)};
}

adversary::SearchResult AdversarySession::search_script(std::size_t number,
                                                        const AdversaryReport& report) {
  const auto& candidate = plan_.candidates[number];
  const adversary::TrialKeys keys;
  const auto prefix = server_->next_prefix();
  const auto script = traffic::make_script(candidate, keys, prefix);
  const Cleaning cleaning(*server_, candidate, *script);
  adversary::ScriptTrial trial(server_->connections(1).front(), *script, plan_.request.cost,
                               premises_for(candidate, prefix));
  return search(trial, number, report);
}

AdversaryRun AdversarySession::run_one(std::size_t number, const AdversaryReport& report) {
  const auto& candidate = plan_.candidates[number];
  AdversaryRun run{.name = std::string(name_of(candidate)),
                   .algorithm = candidate.algorithm,
                   .tick = tick_of(candidate)};
  if (const auto* told = rounding_of(candidate)) run.told_by = told->name;
  if (plan_.model) {
    adversary::ModelTrial trial(candidate, plan_.request.cost);
    run.result = search(trial, number, report);
  } else {
    run.result = search_script(number, report);
  }
  return run;
}

AdversaryReport search_all(const BurstPlan& plan, Invocation& invocation, bool shows_progress) {
  AdversaryReport report{.plan = plan, .base = base_for(plan)};
  try {
    AdversarySession(plan, invocation, shows_progress).run(report);
  } catch (const std::exception&) {
    // An error after Ctrl-C comes from ending.
    if (invocation.interrupt.signal() == 0) throw;
    report.interrupted = true;
  }
  return report;
}

Destination open_log(const BurstPlan& plan, const BurstOptions& options, Invocation& invocation) {
  if (options.write && plan.candidates.size() > 1) {
    throw UsageError(fmt::format("--write takes what is found against one limiter, not against {}",
                                 plan.candidates.size()),
                     "name one by --algorithm");
  }
  if (options.write == "-" && invocation.json) {
    throw UsageError("standard output is asked for more than once",
                     "give --json, or --write another file");
  }
  return {"--write", options.write, invocation.out};
}

std::vector<std::string> failures(const std::vector<Assertion>& assertions,
                                  const AdversaryReport& report) {
  std::vector<BurstRun> runs;
  for (const auto& run : report.runs) runs.push_back(as_burst_run(report, run));
  return failures_of(assertions, runs);
}

}  // namespace

ExitStatus run_adversary(const BurstPlan& plan, const BurstOptions& options,
                         const std::vector<Assertion>& assertions, Invocation& invocation) {
  auto log = open_log(plan, options, invocation);
  const bool shows_progress = !options.quiet && is_terminal(STDERR_FILENO);
  const auto report = search_all(plan, invocation, shows_progress);
  if (!report.interrupted) {
    log.write(schedule_log(report, report.runs.front(), replay_words(plan, options, invocation)));
    log.commit();
  }
  if (!options.quiet && !log.to_stdout()) {
    auto& out = invocation.out;
    if (invocation.json) {
      append_adversary_json(out.buffer(), report);
    } else {
      append_adversary_text(out.buffer(), report, look_of(out.fd()));
    }
    out.flush();
  }
  // After Ctrl-C nothing more is judged: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  return tell_failures(failures(assertions, report), invocation);
}

}  // namespace rlctl::cli
