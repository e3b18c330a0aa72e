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

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/burst/adversary.h"
#include "cli/commands/burst/assertions.h"
#include "cli/commands/burst/measures.h"
#include "cli/commands/burst/picture.h"
#include "cli/commands/burst/plan.h"
#include "cli/commands/burst/progress.h"
#include "cli/commands/burst/report.h"
#include "cli/commands/burst/server.h"
#include "cli/errors/failure.h"
#include "cli/options/log_options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "limiter/algorithm.h"
#include "limiter/decision.h"
#include "redis/error.h"
#include "replay/recording.h"
#include "replay/spool.h"
#include "traffic/measurement.h"
#include "traffic/real_run.h"
#include "traffic/script.h"
#include "traffic/suggestion.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

namespace rlctl::cli::burst {
namespace {

/// Called for each decision, with the names of the run and of the key.
using OnNamedDecision = std::function<void(std::string_view run, std::string_view key,
                                           const traffic::Arrival&, const limiter::Decision&)>;

std::string reading_progress(std::int64_t bytes, std::int64_t total) {
  constexpr double kMegabyte = 1e6;
  const auto done = static_cast<double>(bytes) / kMegabyte;
  if (total == 0) return fmt::format("{:.0f} MB read; Ctrl-C stops", done);
  return fmt::format("{:3.0f}%  of {:.0f} MB read; Ctrl-C stops",
                     100 * std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total)),
                     static_cast<double>(total) / kMegabyte);
}

Run with_names(std::string name, traffic::Outcome outcome, const traffic::Traffic& traffic) {
  Run run{.name = std::move(name)};
  if (outcome.measured.allowed > 0) run.worst_key = traffic.key_name(outcome.measured.worst.key);
  for (const auto& [key, denied] : outcome.top_denied) {
    run.top_denied.emplace_back(traffic.key_name(key), denied);
  }
  run.outcome = std::move(outcome);
  return run;
}

/// The requests of one run, the origin of its times (Run::begin), and the zero of its
/// timelines: an edge of a window, or for dates and times of day 1970.
struct RunTraffic {
  std::unique_ptr<traffic::Traffic> traffic = {};
  std::chrono::microseconds begin{0}, zero{0};
};

RunTraffic virtual_traffic(const Plan& plan, const replay::Recording* recording) {
  if (recording) return {.traffic = recording->traffic(), .begin = recording->first()};
  const auto start = plan.request.start;
  return {.traffic = traffic::make_traffic(*plan.pattern, plan.request),
          .zero = start - start % plan.request.limit.window};
}

void keep(replay::Spool& allowed, const traffic::Arrival& arrival,
          const limiter::Decision& decision) {
  allowed.add({.at_us = (arrival.at + decision.delay).count(),
               .key = arrival.key,
               .cost = static_cast<std::uint32_t>(arrival.cost)});
}

/// Leaves only the departures of the worst window's key, which are the ones that a picture shows.
void draw_key(replay::Spool& allowed, traffic::Outcome& outcome) {
  if (outcome.measured.worst.allowed == 0) return;
  traffic::Timeline departures(outcome.departures.zero());
  departures.begin_at(outcome.departures.begin());
  allowed.finish();
  replay::SpoolReader reader(allowed);
  for (replay::Record record; reader.next(record);) {
    if (record.key != outcome.measured.worst.key) continue;
    departures.add(std::chrono::microseconds{record.at_us}, true, record.cost);
  }
  outcome.departures = std::move(departures);
}

/// The time to the server and back. A user who may not PING gets an error, which takes as long.
std::chrono::microseconds round_trip_of(redis::Connection& connection) {
  const auto asked = std::chrono::steady_clock::now();
  static_cast<void>(connection.call({"PING"}));
  return std::chrono::ceil<std::chrono::microseconds>(std::chrono::steady_clock::now() - asked);
}

/// Traffic that begins as soon as the connections and the script are ready.
RunTraffic traffic_soon(const Plan& plan, const replay::Recording* recording,
                        std::chrono::microseconds round_trip) {
  constexpr std::chrono::microseconds kReady{50'000}, kForEachClient{200};
  constexpr int kRoundTrips = 6;  // twice as many as a run needs before its first request
  const auto clients = static_cast<std::int64_t>(plan.real->clients);
  const auto start = system_time() + kReady + kForEachClient * clients + kRoundTrips * round_trip;
  if (recording) {
    return {.traffic = std::make_unique<traffic::ShiftedTraffic>(recording->traffic(),
                                                                 recording->first(), start),
            .begin = start,
            .zero = start};
  }
  const auto request = traffic::starting_at(*plan.pattern, plan.request, start);
  RunTraffic run{.traffic = traffic::make_traffic(*plan.pattern, request), .begin = request.start};
  if (plan.pattern->first_in_window != nullptr) {
    run.begin = traffic::window_from(request.start, request.limit.window);
  }
  run.zero = run.begin;
  return run;
}

std::string_view advice_of(const Plan& plan) {
  if (plan.replay) return "a log with fewer requests a second";
  return plan.pattern->rate.empty() ? "fewer --requests" : "a lower --rate";
}

/// Sends the traffic of a report's plan through each of its limiters in turn, and adds the runs to
/// the report. Removes the keys after each run, even if an error or Ctrl-C ends it; after Ctrl-C
/// the report covers the decisions so far.
class Session {
 public:
  Session(Report& report, Invocation& invocation, bool shows_progress,
          const OnNamedDecision& on_decision, bool has_assertions, bool draws)
      : report_(report),
        plan_(report.plan),
        recording_(report.recording.get()),
        invocation_(invocation),
        progress_(plan_, shows_progress, recording_),
        on_decision_(on_decision),
        has_assertions_(has_assertions),
        draws_(draws) {
    if (!plan_.model) server_ = std::make_unique<Server>(invocation, plan_.candidates);
    if (plan_.is_comparison) comparison_.emplace();
  }

  void run() {
    run_all();
    if (comparison_) compare();
    if (plan_.suggest && !report_.interrupted) suggest();
  }

 private:
  void run_all() {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report_.interrupted; ++i) {
      report_.runs.push_back(plan_.real ? run_real(i) : run_virtual(i));
      const auto& run = report_.runs.back();
      report_.interrupted = run.outcome.interrupted;
      if (is_again_) continue;
      if (const auto why = why_invalid(run)) {
        warn(fmt::format("warning: {}; use {}, or an idle machine", *why, advice_of(plan_)),
             invocation_.command);
      }
      if (const auto why = why_overloaded(run)) warn("warning: " + *why, invocation_.command);
      warn_of_hint(run, invocation_);
    }
  }

  traffic::OnDecision on_decision_of(const traffic::Candidate& candidate, const std::string& name,
                                     const traffic::Traffic& traffic) {
    all_allowed_.reset();
    if (has_assertions_) all_allowed_.emplace(candidate.limits).ignore_reports();
    allowed_.reset();
    if (draws_ && draws_one_key(report_)) allowed_.emplace();
    if (comparison_ && !report_.runs.empty()) comparison_->start_second();
    if (!on_decision_ && !all_allowed_ && !allowed_ && !comparison_) return {};
    return [this, &name, &traffic](const traffic::Arrival& arrival,
                                   const limiter::Decision& decision) {
      if (all_allowed_) all_allowed_->add(arrival, {.allowed = true});
      if (allowed_ && decision.allowed) keep(*allowed_, arrival, decision);
      if (comparison_) comparison_->add(arrival, decision.allowed);
      if (on_decision_) on_decision_(name, traffic.key_name(arrival.key), arrival, decision);
    };
  }

  void warn_of_change(const traffic::Script& script) {
    const auto change = script.change();
    if (change.empty() || is_again_) return;
    warn(fmt::format("warning: {}: {}", escape(script.name()), change), invocation_.command);
  }

  /// The result of a run, whose times are from `begin`.
  Run finished(const traffic::Candidate& candidate, traffic::Outcome outcome,
               const traffic::Traffic& traffic, std::chrono::microseconds begin) {
    auto run = with_names(std::string(name_of(candidate)), std::move(outcome), traffic);
    run.begin = begin;
    if (allowed_) draw_key(*allowed_, run.outcome);
    if (all_allowed_) {
      const auto worst = all_allowed_->result().worst;
      run.offered = {.worst = worst, .window = candidate.limits[worst.limit].window};
    }
    run.is_bundled = candidate.foreign == nullptr;
    run.hint = reply_hint(run, candidate);
    run.why = why_of(candidate, run.outcome.measured,
                     recording_ != nullptr ? recording_->max_cost() : plan_.request.cost, false);
    return run;
  }

  /// If a script never ends, runs it again in the same way, to name the request to blame.
  Run run_virtual(std::size_t number) {
    try {
      return run_virtual(number, false);
    } catch (const redis::Error& error) {
      const auto& candidate = plan_.candidates[number];
      if (!server_ || !server_->may_retry(error, candidate)) throw;
      server_ = std::make_unique<Server>(invocation_, plan_.candidates);
      static_cast<void>(run_virtual(number, true));
      throw;
    }
  }

  Run run_virtual(std::size_t number, bool one_at_a_time) {
    const auto& candidate = plan_.candidates[number];
    const std::string name(name_of(candidate));
    const auto [traffic, begin, zero] = virtual_traffic(plan_, recording_);
    std::unique_ptr<traffic::Script> script;
    std::optional<Cleaning> cleaning;
    std::unique_ptr<traffic::Decider> decider;
    if (plan_.model) {
      decider = std::make_unique<traffic::ModelDecider>(candidate);
    } else {
      script = make_script(candidate, *traffic, server_->next_prefix());
      cleaning.emplace(*server_, candidate, *script);
      auto scripts =
          std::make_unique<traffic::ScriptDecider>(server_->connections(1).front(), *script);
      const auto timeout = server_->timeout();
      scripts->stop_at(invocation_.interrupt, timeout,
                       server_->is_private() ? std::chrono::microseconds{0} : timeout);
      if (one_at_a_time) scripts->send_one_at_a_time();
      decider = std::move(scripts);
      if (!one_at_a_time) warn_of_change(*script);
    }
    const auto on_decision =
        one_at_a_time ? traffic::OnDecision() : on_decision_of(candidate, name, *traffic);
    auto outcome = traffic::run_virtually(
        *traffic, *decider, candidate.limits, invocation_.interrupt, on_decision,
        [&, size = traffic->size()](std::int64_t done) { progress_.update(number, done, size); },
        has_assertions_ || invocation_.json || candidate.foreign != nullptr, zero);
    progress_.clear();  // cleaning up may write a warning
    return finished(candidate, std::move(outcome), *traffic, begin);
  }

  Run run_real(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    const std::string name(name_of(candidate));
    const auto connections = server_->connections(plan_.real->clients);
    const auto [traffic, begin, zero] =
        traffic_soon(plan_, recording_, round_trip_of(connections.front()));
    const auto script =
        make_script(candidate, *traffic, server_->next_prefix(),
                    {.virtual_clock = false, .registers_made_keys = !server_->is_private()});
    const Cleaning cleaning(*server_, candidate, *script);
    const traffic::RealRun run{
        .script = script.get(),
        .connections = connections,
        .limits = candidate.limits,
        .timeout = server_->timeout(),
        .interrupt = &invocation_.interrupt,
        .on_decision = on_decision_of(candidate, name, *traffic),
        .on_progress =
            [&, size = traffic->size()](const traffic::RealProgress& progress) {
              progress_.update(number, name, size, progress);
            },
        .zero = plan_.real->is_closed_loop() ? std::nullopt : std::optional(zero)};
    auto outcome =
        plan_.real->is_closed_loop()
            ? traffic::run_flat_out(*traffic, run, *plan_.real->pipeline, plan_.real->duration)
            : traffic::run_on_schedule(*traffic, run);
    progress_.clear();  // cleaning up may write a warning
    warn_of_change(*script);
    const auto origin = plan_.real->is_closed_loop() ? outcome.timeline.begin() : begin;
    return finished(candidate, std::move(outcome), *traffic, origin);
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

  /// If a difference may be due to real time, compares again: the next runs may be exact. Not if
  /// the decisions are written as they come.
  void compare() {
    constexpr int kTries = 3;
    find_difference();
    for (int i = 1; i < kTries && !on_decision_ && difference_may_be_timing_noise(); ++i) {
      is_again_ = true;
      report_.runs.clear();
      report_.difference.reset();
      comparison_.emplace();
      run_all();
      find_difference();
    }
    if (!difference_may_be_timing_noise()) return;
    warn(
        "warning: the server was held up while TTLs ran, so that real time may have made the "
        "difference; use an idle machine",
        invocation_.command);
  }

  /// A difference that was asked for again is that of the virtual clock.
  [[nodiscard]] bool difference_may_be_timing_noise() const {
    const auto& difference = report_.difference;
    if (!difference || difference->shrunk || report_.interrupted) return false;
    return std::any_of(report_.runs.begin(), report_.runs.end(),
                       [](const Run& run) { return run.outcome.was_held_up; });
  }

  /// Ctrl-C stops the shrinking; the report keeps the difference.
  void find_difference() {
    if (!comparison_->found() || report_.interrupted) return;
    report_.difference = comparison_->found();
    const auto traffic = virtual_traffic(plan_, recording_).traffic;
    try {
      shrink_difference(*report_.difference, plan_, *traffic, server_.get(),
                        [this](std::int64_t asked, std::int64_t most) {
                          progress_.shrink(asked, most);
                          return invocation_.interrupt.signal() == 0;
                        });
      progress_.clear();
    } catch (const UsageError& error) {
      // A script that keeps state elsewhere cannot be asked again on another's server.
      progress_.clear();
      if (!is_again_) {
        warn(fmt::format("warning: the difference is not shrunk: {}", error.what()),
             invocation_.command);
      }
    }
    report_.interrupted = invocation_.interrupt.signal() != 0;
  }

  Report& report_;
  const Plan& plan_;
  const replay::Recording* recording_;  ///< null if a pattern makes the traffic
  Invocation& invocation_;
  RunsProgress progress_;
  const OnNamedDecision& on_decision_;
  bool has_assertions_, draws_;
  bool is_again_ = false;  ///< the runs are repeated: their warnings have been written
  /// The units that the current run allowed to all keys, to draw those of one key.
  std::optional<replay::Spool> allowed_;
  /// How a limiter that allows everything would have treated the requests of the current run.
  std::optional<traffic::Measurement> all_allowed_;
  std::optional<DecisionComparison> comparison_;  ///< of the decisions of the two runs
  std::unique_ptr<Server> server_;
};

/// Reads the plan's log, and warns about lines that it cannot read; null if the plan has no log.
/// Throws what replay::Recording throws, and UsageError if a limiter of the plan does not accept
/// the highest cost in the log.
std::shared_ptr<const replay::Recording> read_recording(const Plan& plan,
                                                        const Invocation& invocation,
                                                        bool shows_progress) {
  if (!plan.replay) return nullptr;
  Progress progress(shows_progress);
  const auto recording = std::make_shared<const replay::Recording>(
      *plan.replay, invocation.interrupt, [&](std::int64_t bytes, std::int64_t total) {
        progress.update(reading_progress(bytes, total));
      });
  progress.clear();
  warn_of_lines(*recording, invocation.command);
  require_costs(plan.candidates, *recording);
  return recording;
}

// --- The report and the command ------------------------------------------------------------------

/// Writes one report in every requested format.
class Reporting {
 public:
  Reporting(const Plan& plan, Invocation& invocation)
      : quiet_(plan.quiet),
        invocation_(invocation),
        svg_("--svg", plan.svg, invocation.out),
        csv_("--csv", plan.csv, invocation.out),
        jsonl_("--jsonl", plan.jsonl, invocation.out),
        junit_("--junit", plan.junit, invocation.out) {
    const int on_stdout =
        svg_.to_stdout() + csv_.to_stdout() + jsonl_.to_stdout() + junit_.to_stdout();
    require_one_on_stdout(on_stdout + invocation.json,
                          "use only one of --json, --svg -, --csv -, --jsonl - and --junit -");
    // Then nothing else goes to standard output.
    if (on_stdout > 0) quiet_ = true;
  }

  /// The callback for a Session; empty without --jsonl.
  OnNamedDecision on_decision() {
    if (!jsonl_.is_wanted()) return {};
    return [this](std::string_view run, std::string_view key, const traffic::Arrival& arrival,
                  const limiter::Decision& decision) {
      append_decision_json(decisions_, run, key, arrival, decision);
      write_decisions(Output::kLarge);
    };
  }

  /// Writes all outputs; for an interrupted report only the text or the JSON, since the other
  /// formats cannot state that it was interrupted.
  void finish(const Report& report, std::span<const Assertion> assertions) {
    write_decisions(0);
    if (!report.interrupted) {
      jsonl_.commit();
      std::string csv;
      append_csv(csv, report);
      csv_.write(csv);
      csv_.commit();
      if (svg_.is_wanted()) svg_.write(draw_svg(report));
      svg_.commit();
      if (junit_.is_wanted()) junit_.write(junit_report(report, assertions));
      junit_.commit();
    }
    if (quiet_) return;
    auto& out = invocation_.out;
    if (invocation_.json) {
      append_json(out.buffer(), report);
    } else {
      append_text(out.buffer(), report, out.look());
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
  Destination svg_, csv_, jsonl_, junit_;
  std::string decisions_;
};

/// Runs the plan and writes the report; after an error or Ctrl-C it covers the runs so far.
Report run_and_report(const Plan& plan, std::span<const Assertion> assertions,
                      Invocation& invocation) {
  Reporting reporting(plan, invocation);
  const bool shows_progress = !plan.quiet && is_terminal(STDERR_FILENO);
  Report report{.plan = plan};
  report.recording = read_recording(plan, invocation, shows_progress);
  try {
    const auto on_decision = reporting.on_decision();
    const bool draws = plan.svg || (!plan.quiet && !invocation.json);
    Session(report, invocation, shows_progress, on_decision, !assertions.empty(), draws).run();
  } catch (const std::exception&) {
    // After Ctrl-C, stopping the run may have caused the error; any other error must not lose the
    // finished runs.
    report.failed = invocation.interrupt.signal() == 0;
    if (report.failed && report.runs.empty()) throw;
    report.interrupted = true;
    reporting.finish(report, assertions);
    if (report.failed) throw;
    return report;
  }
  reporting.finish(report, assertions);
  return report;
}

void warn_of_missing_clock(const Plan& plan, const Invocation& invocation) {
  if (plan.real) return;
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign || !traffic::lacks_clock(*candidate.foreign)) continue;
    warn(
        fmt::format("warning: no time passes for {}: it calls neither TIME nor a command that "
                    "sets a TTL, and --keys and --args do not contain the time, such as {{now_ms}}",
                    escape(candidate.foreign->name)),
        invocation.command);
  }
}

ExitStatus run_command(Plan& plan, Invocation& invocation) {
  std::vector<Assertion> assertions;
  complete_plan(plan, invocation);
  warn_of_missing_clock(plan, invocation);
  const auto measures = plan.search ? search_measures() : traffic_measures();
  for (const auto& text : plan.assertion_texts) {
    assertions.push_back(parse_assertion(text, plan.real.has_value(), measures));
  }
  if (plan.search) return run_adversary(plan, assertions, invocation);
  const auto report = run_and_report(plan, assertions, invocation);
  // After Ctrl-C no assertion is checked: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  auto failures = failures_of(assertions, report.runs);
  if (plan.quiet && report.difference) {
    failures.push_back("the limiters differ, " + difference_text(report.plan, *report.difference));
  }
  const auto status = report_failures(failures, invocation);
  return report.difference ? ExitStatus::kDenied : status;
}

}  // namespace

}  // namespace rlctl::cli::burst

namespace rlctl::cli {

const Command burst_command{
    .text =
        {.name = "burst",
         .summary = "send traffic through limiters, and show what they allow",
         .synopsis = "[connection] burst [options] [PATTERN]\n"
                     "burst --script SCRIPT [options] [PATTERN] [KEY...] , ARG...\n"
                     "[connection] burst [options] --replay FILE...",
         .about =
             "Sends the same traffic through one limiter after another, and compares the most\n"
             "that each allows within any one window with the limit. Time is virtual: a minute\n"
             "of traffic takes a moment, and the same seed gives the same result. With\n"
             "--clock real, each request is sent when it is due, and timed. The server is a\n"
             "private one: RLCTL_URL and the configuration name servers that are in use, so\n"
             "only --url, -H, -p or -s on the command line sends traffic to another server.",
         .statuses =
             {
                 "done",
                 "an assertion does not hold or proves nothing; --against: they differ",
                 "wrong usage, a log that cannot be read, or output that cannot be written",
                 kStatusUnreachable,
                 kStatusRefused,
                 "the server or the script failed (READONLY, OOM)",
             },
         .epilogue = R"(
Examples:
  rlctl burst
  rlctl burst poisson --limit 100/10s --algorithm all --keys 50
  rlctl burst adversary --algorithm gcra
  rlctl burst boundary --algorithm gcra --assert 'worst<=1.5' --svg gcra.svg
  rlctl burst poisson --limit 9/7s --algorithm gcra --against token-bucket
  rlctl burst steady --clock real --rate 500/s --assert 'p99_us<5000'
  rlctl burst --rate max --clients 20 --pipeline 10
  rlctl burst --replay access.log --limit 100/60s --suggest 1%
  rlctl burst --script my.lua --args '{now_ms}' --allowed-when 'r[1] > 0'
  rlctl burst --script a.lua --script b.lua '{key}' , '{now_ms}' '{limit}'
)",
         .notes = burst::notes,
         .complete_operand = burst::complete_pattern},
    .add = add_command<burst::Plan, burst::add_options, burst::run_command>};

}  // namespace rlctl::cli
