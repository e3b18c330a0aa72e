#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/burst/adversary.h"
#include "cli/burst/measures.h"
#include "cli/burst/options.h"
#include "cli/burst/plan.h"
#include "cli/burst/progress.h"
#include "cli/burst/report.h"
#include "cli/burst/server.h"
#include "cli/burst/text.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/replay.h"
#include "cli/term/output.h"
#include "cli/term/progress.h"
#include "cli/term/terminal.h"
#include "limiter/algorithm.h"
#include "limiter/decision.h"
#include "replay/recording.h"
#include "traffic/real_run.h"
#include "traffic/script.h"
#include "traffic/suggestion.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

namespace rlctl::cli {
namespace {

/// Called for each decision, with the names of the run and of the key.
using OnBurstDecision = std::function<void(std::string_view run, std::string_view key,
                                           const traffic::Arrival&, const limiter::Decision&)>;

std::string reading_progress(std::int64_t bytes, std::int64_t total) {
  constexpr double kMegabyte = 1e6;
  const auto done = static_cast<double>(bytes) / kMegabyte;
  if (total == 0) return fmt::format("{:.0f} MB read; Ctrl-C stops", done);
  return fmt::format("{:3.0f}%  of {:.0f} MB read; Ctrl-C stops",
                     100 * std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total)),
                     static_cast<double>(total) / kMegabyte);
}

void require_costs(const BurstPlan& plan, const replay::Recording& recording) {
  for (const auto& candidate : plan.candidates) {
    if (candidate.foreign) continue;
    try {
      for (const auto& limit : candidate.limits) {
        limiter::require_usable(*candidate.algorithm, limit, recording.max_cost());
      }
    } catch (const UsageError& error) {
      throw UsageError(std::string("--replay: ") + error.what(),
                       "--cost-field '' counts every request as 1");
    }
  }
}

BurstRun with_names(std::string name, traffic::Outcome outcome, const traffic::Traffic& traffic) {
  BurstRun run{.name = std::move(name)};
  if (outcome.measured.allowed > 0) run.worst_key = traffic.key_name(outcome.measured.worst.key);
  for (const auto& [key, denied] : outcome.top_denied) {
    run.top_denied.emplace_back(traffic.key_name(key), denied);
  }
  run.outcome = std::move(outcome);
  return run;
}

/// The requests of one run, and the origin of its times (BurstRun::begin).
struct RunTraffic {
  std::unique_ptr<traffic::Traffic> traffic = {};
  std::chrono::microseconds begin{0};
};

RunTraffic virtual_traffic(const BurstPlan& plan, const replay::Recording* recording) {
  if (recording) return {.traffic = recording->traffic(), .begin = recording->first()};
  return {.traffic = traffic::make_traffic(*plan.pattern, plan.request)};
}

/// The time to the server and back. A user who may not PING gets an error, which takes as long.
std::chrono::microseconds round_trip_of(redis::Connection& connection) {
  const auto asked = std::chrono::steady_clock::now();
  static_cast<void>(connection.call({"PING"}));
  return std::chrono::ceil<std::chrono::microseconds>(std::chrono::steady_clock::now() - asked);
}

/// Traffic that begins as soon as the connections and the script are ready.
RunTraffic traffic_soon(const BurstPlan& plan, const replay::Recording* recording,
                        std::chrono::microseconds round_trip) {
  constexpr std::chrono::microseconds kReady{50'000}, kForEachClient{200};
  constexpr int kRoundTrips = 6;  // twice as many as a run needs before its first request
  const auto clients = static_cast<std::int64_t>(plan.real->clients);
  const auto start = system_time() + kReady + kForEachClient * clients + kRoundTrips * round_trip;
  if (recording) {
    return {.traffic = std::make_unique<traffic::ShiftedTraffic>(recording->traffic(),
                                                                 recording->first(), start),
            .begin = start};
  }
  const auto request = traffic::starting_at(*plan.pattern, plan.request, start);
  RunTraffic run{.traffic = traffic::make_traffic(*plan.pattern, request), .begin = request.start};
  if (plan.pattern->first_in_window != nullptr) {
    const auto window = request.limit.window;
    run.begin = (request.start + window - std::chrono::microseconds{1}) / window * window;
  }
  return run;
}

std::string_view advice_of(const BurstPlan& plan) {
  if (plan.replay) return "a log with fewer requests a second";
  return plan.pattern->rate.empty() ? "fewer --requests" : "a lower --rate";
}

/// Sends the traffic of a report's plan through each of its limiters in turn, and adds the runs to
/// the report. Removes the keys after each run, even if an error or Ctrl-C ends it; after Ctrl-C
/// the report covers the decisions so far.
class Session {
 public:
  Session(BurstReport& report, Invocation& invocation, bool shows_progress,
          const OnBurstDecision& on_decision)
      : report_(report),
        plan_(report.plan),
        recording_(report.recording.get()),
        invocation_(invocation),
        progress_(plan_, shows_progress, recording_),
        on_decision_(on_decision) {
    if (!plan_.model) server_ = std::make_unique<BurstServer>(invocation, plan_.candidates);
  }

  void run() {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report_.interrupted; ++i) {
      report_.runs.push_back(plan_.real ? run_real(i) : run_virtual(i));
      const auto& run = report_.runs.back();
      report_.interrupted = run.outcome.interrupted;
      if (const auto why = why_invalid(run)) {
        warn(fmt::format("warning: {}; use {}, or an idle machine", *why, advice_of(plan_)),
             invocation_.command);
      }
      if (const auto why = why_overloaded(run)) warn("warning: " + *why, invocation_.command);
    }
    if (plan_.suggest && !report_.interrupted) suggest();
  }

 private:
  traffic::OnDecision on_decision_of(const std::string& name, const traffic::Traffic& traffic) {
    if (!on_decision_) return {};
    return [this, &name, &traffic](const traffic::Arrival& arrival,
                                   const limiter::Decision& decision) {
      on_decision_(name, traffic.key_name(arrival.key), arrival, decision);
    };
  }

  BurstRun run_virtual(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    const std::string name(name_of(candidate));
    const auto [traffic, begin] = virtual_traffic(plan_, recording_);
    std::unique_ptr<traffic::Script> script;
    std::optional<Cleaning> cleaning;
    std::unique_ptr<traffic::Decider> decider;
    if (plan_.model) {
      decider = std::make_unique<traffic::ModelDecider>(candidate);
    } else {
      script = make_script(candidate, *traffic, server_->next_prefix());
      cleaning.emplace(*server_, candidate, *script);
      decider = std::make_unique<traffic::ScriptDecider>(server_->connections(1).front(), *script);
    }
    auto outcome = traffic::run_virtually(
        *traffic, *decider, candidate.limits, invocation_.interrupt, on_decision_of(name, *traffic),
        [&, size = traffic->size()](std::int64_t done) { progress_.update(number, done, size); });
    progress_.clear();  // cleaning up may write a warning
    auto result = with_names(name, std::move(outcome), *traffic);
    result.begin = begin;
    return result;
  }

  BurstRun run_real(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    const std::string name(name_of(candidate));
    const auto connections = server_->connections(plan_.real->clients);
    const auto [traffic, begin] =
        traffic_soon(plan_, recording_, round_trip_of(connections.front()));
    const auto script = make_script(candidate, *traffic, server_->next_prefix());
    const Cleaning cleaning(*server_, candidate, *script);
    const traffic::RealRun run{
        .script = script.get(),
        .connections = connections,
        .limits = candidate.limits,
        .timeout = server_->timeout(),
        .interrupt = &invocation_.interrupt,
        .on_decision = on_decision_of(name, *traffic),
        .on_progress = [&, size = traffic->size()](const traffic::RealProgress& progress) {
          progress_.update(number, name, size, progress);
        }};
    auto outcome =
        plan_.real->is_closed_loop()
            ? traffic::run_flat_out(*traffic, run, *plan_.real->pipeline, plan_.real->duration)
            : traffic::run_on_schedule(*traffic, run);
    progress_.clear();  // cleaning up may write a warning
    auto result = with_names(name, std::move(outcome), *traffic);
    result.begin = plan_.real->is_closed_loop() ? result.outcome.timeline.begin() : begin;
    return result;
  }

  /// Ctrl-C stops the suggestions; the report keeps the runs.
  void suggest() {
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      auto& run = report_.runs[i];
      const auto& candidate = plan_.candidates[i];
      run.burst = candidate.limits.front().burst;
      run.suggestion = traffic::suggest_limit(
          [this] { return virtual_traffic(plan_, recording_).traffic; }, candidate, *plan_.suggest,
          invocation_.interrupt,
          [&](double share, std::int64_t limit) { progress_.suggest(i, run.name, share, limit); });
    }
    progress_.clear();
  }

  BurstReport& report_;
  const BurstPlan& plan_;
  const replay::Recording* recording_;  ///< null if a pattern makes the traffic
  Invocation& invocation_;
  BurstProgress progress_;
  const OnBurstDecision& on_decision_;
  std::unique_ptr<BurstServer> server_;
};

/// Reads the plan's log, and warns about lines that it cannot read; null if the plan has no log.
/// Throws what replay::Recording throws, and UsageError if a limiter of the plan does not accept
/// the highest cost in the log.
std::shared_ptr<const replay::Recording> read_recording(const BurstPlan& plan,
                                                        const Invocation& invocation,
                                                        bool shows_progress) {
  if (!plan.replay) return nullptr;
  Progress progress(shows_progress);
  const auto recording = std::make_shared<const replay::Recording>(
      *plan.replay, invocation.interrupt, [&](std::int64_t bytes, std::int64_t total) {
        progress.update(reading_progress(bytes, total));
      });
  progress.clear();
  warn_of_bad_lines(*recording, invocation.command);
  require_costs(plan, *recording);
  return recording;
}

// --- The report and the command ------------------------------------------------------------------

/// Decisions are written in chunks of about this many bytes.
constexpr std::size_t kPiece = 64 * 1024;

/// Writes one report in every requested format.
class Reporting {
 public:
  Reporting(const BurstOptions& options, Invocation& invocation)
      : quiet_(options.quiet),
        invocation_(invocation),
        svg_("--svg", options.svg, invocation.out),
        csv_("--csv", options.csv, invocation.out),
        jsonl_("--jsonl", options.jsonl, invocation.out) {
    const int on_stdout = svg_.to_stdout() + csv_.to_stdout() + jsonl_.to_stdout();
    if (on_stdout + invocation.json > 1) {
      throw UsageError("standard output is asked for more than once",
                       "use only one of --json, --svg -, --csv - and --jsonl -");
    }
    // Then nothing else goes to standard output.
    if (on_stdout > 0) quiet_ = true;
  }

  /// The callback for a Session; empty without --jsonl.
  OnBurstDecision on_decision() {
    if (!jsonl_.is_wanted()) return {};
    return [this](std::string_view run, std::string_view key, const traffic::Arrival& arrival,
                  const limiter::Decision& decision) {
      append_decision_json(decisions_, run, key, arrival, decision);
      write_decisions(kPiece);
    };
  }

  /// Writes all outputs; for an interrupted report only the text or the JSON, since the other
  /// formats cannot state that it was interrupted.
  void finish(const BurstReport& report) {
    write_decisions(0);
    if (!report.interrupted) {
      jsonl_.commit();
      std::string csv;
      append_burst_csv(csv, report);
      csv_.write(csv);
      csv_.commit();
      if (svg_.is_wanted()) svg_.write(burst_svg(report));
      svg_.commit();
    }
    if (quiet_) return;
    auto& out = invocation_.out;
    if (invocation_.json) {
      append_burst_json(out.buffer(), report);
    } else {
      append_burst_text(out.buffer(), report, look_of(out.fd()));
    }
    out.flush();
  }

 private:
  void write_decisions(std::size_t more_than) {
    if (decisions_.size() <= more_than) return;
    jsonl_.write(decisions_);
    decisions_.clear();
  }

  bool quiet_;
  Invocation& invocation_;
  Destination svg_, csv_, jsonl_;
  std::string decisions_;
};

/// If the sender fell behind in a run, its measures are not reliable, so no assertion holds.
std::vector<std::string> failures(const std::vector<Assertion>& assertions,
                                  const BurstReport& report) {
  auto all = failures_of(assertions, report.runs);
  if (assertions.empty()) return all;
  for (const auto& run : report.runs) {
    if (!why_invalid(run)) continue;
    all.push_back("no assertion holds for " + run.name + ": the sender fell behind");
  }
  return all;
}

/// Runs the plan and writes the report; after an error or Ctrl-C it covers the runs so far.
BurstReport run_and_report(BurstPlan plan, const BurstOptions& options, Invocation& invocation) {
  Reporting reporting(options, invocation);
  const bool shows_progress = !options.quiet && is_terminal(STDERR_FILENO);
  BurstReport report{.plan = std::move(plan)};
  report.recording = read_recording(report.plan, invocation, shows_progress);
  try {
    const auto on_decision = reporting.on_decision();
    Session(report, invocation, shows_progress, on_decision).run();
  } catch (const std::exception&) {
    // After Ctrl-C, stopping the run may have caused the error; any other error must not lose the
    // finished runs.
    report.failed = invocation.interrupt.signal() == 0;
    if (report.failed && report.runs.empty()) throw;
    report.interrupted = true;
    reporting.finish(report);
    if (report.failed) throw;
    return report;
  }
  reporting.finish(report);
  return report;
}

ExitStatus run_burst_command(const BurstOptions& options, Invocation& invocation) {
  std::vector<Assertion> assertions;
  auto plan = make_burst_plan(options, invocation);
  const auto measures = plan.adversary_budget ? search_measures() : burst_measures();
  for (const auto& text : options.assertions) {
    assertions.push_back(parse_assertion(text, plan.real.has_value(), measures));
  }
  if (plan.adversary_budget) return run_adversary(plan, options, assertions, invocation);
  const auto report = run_and_report(std::move(plan), options, invocation);
  // After Ctrl-C no assertion is checked: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  return tell_failures(failures(assertions, report), invocation);
}

Action add_burst(Options& options) {
  auto target = std::make_shared<BurstOptions>();
  add_burst_options(options, *target);
  return [target](Invocation& invocation) { return run_burst_command(*target, invocation); };
}

}  // namespace

const Command burst_command{
    .name = "burst",
    .summary = "drive traffic at limiters, and show what they let pass",
    .synopsis =
        "[connection] burst [options] [PATTERN]\n"
        "[connection] burst [options] --replay FILE...",
    .about =
        "Sends the same traffic through one limiter after another, and compares the most\n"
        "that each allows within any one window with the limit. Time is virtual: a minute\n"
        "of traffic takes a moment, and the same seed gives the same result. With\n"
        "--clock real, each request is sent when it is due, and timed. The server is a\n"
        "private one: RLCTL_URL and the configuration name servers that are in use, so\n"
        "only --url, -H, -p or -s on the command line sends traffic to another server.",
    .epilogue = R"(
Exit status:
  0  done
  1  an assertion does not hold, or is about a run that is not valid
  2  wrong usage, a log that cannot be read, or output that cannot be written
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  the server or the script failed (READONLY, OOM)

Examples:
  rlctl burst
  rlctl burst poisson --limit 100/10s --algorithm all --keys 50
  rlctl burst adversary --algorithm gcra
  rlctl burst boundary --algorithm gcra --assert 'worst<=2' --svg gcra.svg
  rlctl burst steady --clock real --rate 500/s --assert 'p99_us<5000'
  rlctl burst --rate max --clients 20 --pipeline 10
  rlctl burst --replay access.log --limit 100/60s --suggest 1%
)",
    .add = add_burst,
    .notes = burst_notes};

}  // namespace rlctl::cli
