#include "cli/burst/session.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>

#include "cli/burst/latency.h"
#include "cli/burst/progress.h"
#include "cli/burst/replay.h"
#include "cli/burst/server.h"
#include "cli/warning.h"
#include "traffic/decider.h"
#include "traffic/real_run.h"
#include "traffic/script.h"
#include "traffic/shifted.h"
#include "traffic/suggestion.h"
#include "traffic/virtual_run.h"

namespace rlctl::cli {
namespace {

/// A decider that asks the scripts, and leaves nothing behind.
class ScriptRun final : public traffic::Decider {
 public:
  ScriptRun(BurstServer& server, const traffic::Candidate& candidate,
            const traffic::Traffic& traffic)
      : script_(make_script(candidate, traffic, server.next_prefix())),
        cleaning_(server, candidate, *script_),
        decider_(server.connections(1).front(), *script_) {}

  void decide(std::span<const traffic::Arrival> arrivals,
              std::span<limiter::Decision> decisions) override {
    decider_.decide(arrivals, decisions);
  }
  [[nodiscard]] std::optional<double> bytes_per_key() override { return decider_.bytes_per_key(); }

 private:
  std::unique_ptr<traffic::Script> script_;
  Cleaning cleaning_;
  traffic::ScriptDecider decider_;
};

BurstRun with_names(std::string name, traffic::Outcome outcome, const traffic::Traffic& traffic) {
  BurstRun run{.name = std::move(name)};
  if (outcome.measured.allowed > 0) run.worst_key = traffic.key_name(outcome.measured.worst.key);
  for (const auto& [key, denied] : outcome.top_denied) {
    run.top_denied.emplace_back(traffic.key_name(key), denied);
  }
  run.outcome = std::move(outcome);
  return run;
}

/// What is sent in one run, and where the run's own time begins: with the first request, or one
/// window before the edge; 0 where all runs have the traffic's times.
struct RunTraffic {
  std::unique_ptr<traffic::Traffic> traffic = {};
  std::chrono::microseconds begin{0};
};

RunTraffic virtual_traffic(const BurstPlan& plan, const replay::Recording* recording) {
  if (recording) return {.traffic = recording->traffic(), .begin = recording->first()};
  return {.traffic = traffic::make_traffic(*plan.pattern, plan.request)};
}

/// How long a server is away. An answer that refuses it is one, too.
std::chrono::microseconds round_trip_of(redis::Connection& connection) {
  const auto asked = std::chrono::steady_clock::now();
  static_cast<void>(connection.call({"PING"}));
  return std::chrono::ceil<std::chrono::microseconds>(std::chrono::steady_clock::now() - asked);
}

/// So soon that connections and script are just ready for it.
RunTraffic traffic_soon(const BurstPlan& plan, const replay::Recording* recording,
                        std::chrono::microseconds round_trip) {
  constexpr std::chrono::microseconds kReady{50'000}, kForEachClient{200};
  constexpr int kRoundTrips = 6;  // twice as many as a run begins with
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

/// All runs of a plan.
class Session {
 public:
  /// `recording` is null where the traffic is a pattern's.
  Session(const BurstPlan& plan, const replay::Recording* recording, Invocation& invocation,
          bool shows_progress, const OnBurstDecision& on_decision)
      : plan_(plan),
        recording_(recording),
        invocation_(invocation),
        progress_(plan, shows_progress, length_of(recording)),
        on_decision_(on_decision) {
    if (!plan.model) server_ = std::make_unique<BurstServer>(invocation);
  }

  /// Appends the runs to the report.
  void run(BurstReport& report) {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report.interrupted; ++i) {
      report.runs.push_back(plan_.real ? run_real(i) : run_virtual(i));
      const auto& run = report.runs.back();
      report.interrupted = run.outcome.interrupted;
      if (const auto why = why_invalid(run)) {
        warn(fmt::format("warning: {}; use {}, or a machine with nothing else to do", *why,
                         advice_of(plan_)),
             invocation_.command);
      }
      if (const auto why = why_overloaded(run)) warn("warning: " + *why, invocation_.command);
    }
    if (plan_.suggest && !report.interrupted) suggest(report);
  }

 private:
  std::unique_ptr<traffic::Decider> decider_for(const traffic::Candidate& candidate,
                                                const traffic::Traffic& traffic) {
    if (plan_.model) return std::make_unique<traffic::ModelDecider>(candidate);
    return std::make_unique<ScriptRun>(*server_, candidate, traffic);
  }
  traffic::OnDecision on_decision_of(const std::string& name, const traffic::Traffic& traffic);
  BurstRun run_virtual(std::size_t number);
  BurstRun run_real(std::size_t number);
  void suggest(BurstReport& report);
  static std::optional<std::chrono::microseconds> length_of(const replay::Recording* recording) {
    if (!recording) return std::nullopt;
    return recording->last() - recording->first();
  }

  const BurstPlan& plan_;
  const replay::Recording* recording_;
  Invocation& invocation_;
  BurstProgress progress_;
  const OnBurstDecision& on_decision_;
  std::unique_ptr<BurstServer> server_;
};

traffic::OnDecision Session::on_decision_of(const std::string& name,
                                            const traffic::Traffic& traffic) {
  if (!on_decision_) return {};
  return
      [this, &name, &traffic](const traffic::Arrival& arrival, const limiter::Decision& decision) {
        on_decision_(name, traffic.key_name(arrival.key), arrival, decision);
      };
}

BurstRun Session::run_virtual(std::size_t number) {
  const auto& candidate = plan_.candidates[number];
  const std::string name(name_of(candidate));
  const auto [traffic, begin] = virtual_traffic(plan_, recording_);
  const auto decider = decider_for(candidate, *traffic);
  auto outcome = traffic::run_virtually(
      *traffic, *decider, candidate.limits, invocation_.interrupt, on_decision_of(name, *traffic),
      [&, size = traffic->size()](std::int64_t done) { progress_.update(number, done, size); });
  progress_.clear();  // what cleans up may have something to say
  auto result = with_names(name, std::move(outcome), *traffic);
  result.begin = begin;
  return result;
}

BurstRun Session::run_real(std::size_t number) {
  const auto& candidate = plan_.candidates[number];
  const std::string name(name_of(candidate));
  const auto connections = server_->connections(plan_.real->clients);
  const auto [traffic, begin] = traffic_soon(plan_, recording_, round_trip_of(connections.front()));
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
  progress_.clear();  // what cleans up may have something to say
  auto result = with_names(name, std::move(outcome), *traffic);
  result.begin = plan_.real->is_closed_loop() ? result.outcome.timeline.begin() : begin;
  return result;
}

/// The runs are there already; Ctrl-C leaves them.
void Session::suggest(BurstReport& report) {
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    auto& run = report.runs[i];
    const auto& candidate = plan_.candidates[i];
    run.burst = candidate.limits.front().burst;
    run.suggestion = traffic::suggest_limit(
        [this] { return virtual_traffic(plan_, recording_).traffic; }, candidate, *plan_.suggest,
        invocation_.interrupt,
        [&](double share, std::int64_t limit) { progress_.suggest(i, run.name, share, limit); });
  }
  progress_.clear();
}

}  // namespace

BurstReport run_burst_plan(const BurstPlan& plan, Invocation& invocation, bool shows_progress,
                           const OnBurstDecision& on_decision) {
  BurstReport report{.pattern = plan.pattern,
                     .request = plan.request,
                     .recording = read_recording(plan, invocation, shows_progress),
                     .suggest = plan.suggest,
                     .limits = plan.limits,
                     .script = plan.script,
                     .command = plan.command,
                     .real = plan.real};
  try {
    Session(plan, report.recording.get(), invocation, shows_progress, on_decision).run(report);
  } catch (const std::exception&) {
    // What fails after Ctrl-C ends what was to end; else the runs that are done are not lost.
    const bool by_signal = invocation.interrupt.signal() != 0;
    if (!by_signal && report.runs.empty()) throw;
    report.interrupted = true;
    if (!by_signal) report.error = std::current_exception();
  }
  return report;
}

}  // namespace rlctl::cli
