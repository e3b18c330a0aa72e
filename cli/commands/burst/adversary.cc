#include "cli/commands/burst/adversary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "adversary/branching.h"
#include "adversary/exhaustive.h"
#include "adversary/search.h"
#include "base/text.h"
#include "cli/commands/burst/adversary_report.h"
#include "cli/commands/burst/assertions.h"
#include "cli/commands/burst/picture.h"
#include "cli/commands/burst/report.h"
#include "cli/commands/burst/server.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"
#include "traffic/pattern.h"
#include "traffic/script.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;

/// The placeholder whose rounding may explain a finding, see AdversaryRun::rounded_by; else null.
const traffic::Placeholder* rounding_of(const traffic::Candidate& candidate, const Plan& plan) {
  // If the time is coarser, a finding shows more than the rounding.
  constexpr int kTicksOfWindow = 10;
  if (!candidate.foreign) return nullptr;
  const auto* rounded = coarsest_time(*candidate.foreign);
  const bool matters = rounded != nullptr && rounded->tick > plan.search->tick &&
                       kTicksOfWindow * rounded->tick <= plan.limits.front().window;
  return matters ? rounded : nullptr;
}

/// The start of a window.
microseconds base_for(const Plan& plan) {
  return traffic::window_from(plan.request.start, plan.limits.front().window);
}

/// Runs the searches of a report's plan.
class AdversarySession {
 public:
  AdversarySession(AdversaryReport& report, Invocation& invocation, bool shows_progress)
      : report_(report), plan_(report.plan), invocation_(invocation), progress_(shows_progress) {
    if (!plan_.model) server_ = std::make_unique<Server>(invocation, plan_.candidates);
  }

  /// Appends the runs to the report.
  void run() {
    for (const auto& candidate : plan_.candidates) {
      AdversaryRun run{.candidate = &candidate, .rounded_by = rounding_of(candidate, plan_)};
      run.result = plan_.model ? search_model(run) : search_script(run);
      report_.interrupted = run.result.interrupted;
      auto measured = as_run(report_, run);
      run.hint = measured.hint = reply_hint(measured, candidate);
      progress_.clear();
      warn_of_hint(measured, invocation_);
      report_.runs.push_back(std::move(run));
      if (report_.interrupted) return;
    }
  }

 private:
  [[nodiscard]] adversary::SearchResult search(adversary::Trial& trial, const AdversaryRun& run) {
    const auto done = static_cast<double>(report_.runs.size());
    const auto runs = static_cast<double>(plan_.candidates.size());
    const auto on_progress = [&](std::int64_t asked, std::int64_t of, std::int64_t worst) {
      const auto share = static_cast<double>(asked) / static_cast<double>(of);
      progress_.update(
          (done + std::min(share, 1.0)) / runs,
          fmt::format("{} requests; {}: {} within a window", static_cast<std::int64_t>(runs) * of,
                      name_of(*run.candidate), worst));
    };
    return adversary::search(trial, request_for(run), invocation_.interrupt, on_progress);
  }

  [[nodiscard]] adversary::SearchRequest request_for(const AdversaryRun& run) const {
    return {.limit = report_.limit(),
            .costs = report_.search().costs,
            .budget = report_.search().budget,
            .seed = plan_.request.seed,
            .base = report_.base,
            .tick = report_.search().tick,
            .rounding = run.rounded_by != nullptr ? run.rounded_by->tick : microseconds{0},
            .steps_back = report_.search().steps_back()};
  }

  /// `limiter`: a trial, with its states or without.
  template <typename... Limiter>
  [[nodiscard]] adversary::SearchResult exhaust(const AdversaryRun& run, Limiter&... limiter) {
    const auto done = static_cast<double>(report_.runs.size());
    const auto runs = static_cast<double>(plan_.candidates.size());
    return adversary::search_all(
        limiter..., request_for(run), *report_.search().exhaustive, invocation_.interrupt,
        [&](std::int64_t tried, double share, std::int64_t worst) {
          progress_.update((done + share) / runs,
                           fmt::format("all schedules; {}: {} tried, {} within a window",
                                       name_of(*run.candidate), grouped(tried), worst));
        });
  }

  /// If a script never ends, searches again in the same way, to name the request to blame.
  [[nodiscard]] adversary::SearchResult search_script(AdversaryRun& run) {
    try {
      return search_script(run, false);
    } catch (const redis::Error& error) {
      if (!server_->may_retry(error, *run.candidate)) throw;
      server_ = std::make_unique<Server>(invocation_, plan_.candidates);
      static_cast<void>(search_script(run, true));
      throw;
    }
  }

  [[nodiscard]] adversary::SearchResult search_script(AdversaryRun& run, bool one_at_a_time) {
    LimiterTrial limiter(*run.candidate, server_.get());
    auto& trial = *limiter.script_trial();
    if (one_at_a_time) trial.send_one_at_a_time();
    auto result = report_.search().exhaustive ? exhaust(run, trial) : search(trial, run);
    run.replies = trial.replies();
    return result;
  }

  [[nodiscard]] adversary::SearchResult search_model(const AdversaryRun& run) {
    adversary::ModelTrial trial(*run.candidate);
    if (!report_.search().exhaustive) return search(trial, run);
    adversary::ModelBranching limiter(*run.candidate);
    return exhaust(run, limiter, trial);
  }

  AdversaryReport& report_;
  const Plan& plan_;
  Invocation& invocation_;
  Progress progress_;
  std::unique_ptr<Server> server_;  ///< null with --model
};

/// The files that a search writes: the log, the picture and the JUnit report.
class SearchFiles {
 public:
  /// Opens the files. Throws UsageError if more than one output goes to standard output.
  SearchFiles(const Plan& plan, Invocation& invocation)
      : log_("--write", plan.search->write, invocation.out),
        svg_("--svg", plan.svg, invocation.out),
        junit_("--junit", plan.junit, invocation.out) {
    require_one_on_stdout(invocation.json + on_stdout(),
                          "use only one of --json, --write -, --svg - and --junit -");
  }

  [[nodiscard]] int on_stdout() const noexcept {
    return log_.to_stdout() + svg_.to_stdout() + junit_.to_stdout();
  }
  void write_log(const AdversaryReport& report) {
    if (log_.is_wanted()) log_.write(schedule_log(report, report.runs.front()));
    log_.commit();
  }
  /// The runs have the schedules that were found as their traffic.
  void write_report(const Report& report, std::span<const Assertion> assertions) {
    if (svg_.is_wanted()) svg_.write(draw_svg(report));
    svg_.commit();
    if (junit_.is_wanted()) junit_.write(junit_report(report, assertions));
    junit_.commit();
  }

 private:
  Destination log_, svg_, junit_;
};

/// Throws UsageError for several limiters with a log, which has the schedule of one.
void require_one_log(const Plan& plan) {
  if (!plan.search->write || plan.candidates.size() == 1) return;
  throw UsageError(fmt::format("--write requires one limiter, not {}", plan.candidates.size()),
                   "name one with --algorithm");
}

/// Throws UsageError for an assertion about a clock that steps back if the search tries none.
void require_tried(const std::vector<Assertion>& assertions, const Plan& plan) {
  if (plan.search->steps_back()) return;
  for (const auto& assertion : assertions) {
    if (!assertion.measure.needs_stepping_back) continue;
    throw UsageError(
        fmt::format("--assert: {} needs a clock that steps back", in_quotes(assertion.text)),
        plan.search->exhaustive ? "leave out --exhaustive, which tries no such clock"
                                : "leave out --no-stepping-back");
  }
}

}  // namespace

ExitStatus run_adversary(const Plan& plan, const std::vector<Assertion>& assertions,
                         Invocation& invocation) {
  require_tried(assertions, plan);
  require_one_log(plan);
  SearchFiles files(plan, invocation);
  const bool shows_progress = !plan.quiet && is_terminal(STDERR_FILENO);
  AdversaryReport report{.plan = plan, .base = base_for(plan)};
  try {
    AdversarySession(report, invocation, shows_progress).run();
  } catch (const std::exception&) {
    // After Ctrl-C, stopping the search may have caused the error.
    if (invocation.interrupt.signal() == 0) throw;
    report.interrupted = true;
  }
  if (!report.interrupted) files.write_log(report);
  if (!plan.quiet && files.on_stdout() == 0) {
    auto& out = invocation.out;
    if (invocation.json) {
      append_adversary_json(out.buffer(), report);
    } else {
      append_adversary_text(out.buffer(), report, out.look());
    }
    out.flush();
  }
  // After Ctrl-C no assertion is checked: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  Report found{.plan = plan, .is_search = true};
  for (const auto& run : report.runs) found.runs.push_back(as_run(report, run));
  files.write_report(found, assertions);
  for (const auto& text : warnings_of(assertions, found.runs)) warn(text, invocation.command);
  return report_failures(failures_of(assertions, found.runs), invocation);
}

}  // namespace rlctl::cli::burst
