#include "cli/burst/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cli/burst/progress.h"
#include "cli/burst/server.h"
#include "cli/replay.h"
#include "cli/term/progress.h"
#include "cli/warning.h"
#include "limiter/algorithm.h"
#include "traffic/real_run.h"
#include "traffic/script.h"
#include "traffic/suggestion.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

namespace rlctl::cli {
namespace {

constexpr double kMegabyte = 1e6;

std::string reading_progress(std::int64_t bytes, std::int64_t total) {
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
                       "--cost-field '' takes every request as 1");
    }
  }
}

/// A decider that runs a script, and removes its keys afterwards.
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

/// The time to the server and back. A refusal is an answer, too.
std::chrono::microseconds round_trip_of(redis::Connection& connection) {
  const auto asked = std::chrono::steady_clock::now();
  static_cast<void>(connection.call({"PING"}));
  return std::chrono::ceil<std::chrono::microseconds>(std::chrono::steady_clock::now() - asked);
}

/// As soon as connections and script are ready.
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

/// All runs of a report's plan.
class Session {
 public:
  Session(BurstReport& report, Invocation& invocation, bool shows_progress,
          const OnBurstDecision& on_decision)
      : report_(report),
        plan_(report.plan),
        recording_(report.recording.get()),
        invocation_(invocation),
        progress_(plan_, shows_progress, length_of(recording_)),
        on_decision_(on_decision) {
    if (!plan_.model) server_ = std::make_unique<BurstServer>(invocation);
  }

  void run() {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report_.interrupted; ++i) {
      report_.runs.push_back(plan_.real ? run_real(i) : run_virtual(i));
      const auto& run = report_.runs.back();
      report_.interrupted = run.outcome.interrupted;
      if (const auto why = why_invalid(run)) {
        warn(fmt::format("warning: {}; use {}, or a machine with nothing else to do", *why,
                         advice_of(plan_)),
             invocation_.command);
      }
      if (const auto why = why_overloaded(run)) warn("warning: " + *why, invocation_.command);
    }
    if (plan_.suggest && !report_.interrupted) suggest();
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
  void suggest();
  static std::optional<std::chrono::microseconds> length_of(const replay::Recording* recording) {
    if (!recording) return std::nullopt;
    return recording->last() - recording->first();
  }

  BurstReport& report_;
  const BurstPlan& plan_;
  const replay::Recording* recording_;  ///< null where the traffic is a pattern's
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
  progress_.clear();  // cleaning up may write a warning
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
  progress_.clear();  // cleaning up may write a warning
  auto result = with_names(name, std::move(outcome), *traffic);
  result.begin = plan_.real->is_closed_loop() ? result.outcome.timeline.begin() : begin;
  return result;
}

/// The runs are there already; Ctrl-C leaves them.
void Session::suggest() {
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

}  // namespace

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

void run_burst(BurstReport& report, Invocation& invocation, bool shows_progress,
               const OnBurstDecision& on_decision) {
  Session(report, invocation, shows_progress, on_decision).run();
}

}  // namespace rlctl::cli
