#include "cli/commands/burst/runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/report.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "cli/trial/hints.h"
#include "cli/trial/holders.h"
#include "cli/trial/picture.h"
#include "cli/trial/session.h"
#include "exec/program.h"
#include "exec/real_run.h"
#include "simulation/measurement.h"
#include "simulation/virtual_run.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;
using trial::Cleaning;
using trial::Difference;
using trial::Plan;
using trial::Report;
using trial::ReportFormat;
using trial::Run;
using trial::TrafficPlan;

/// Says that decisions came later than requests were sent, such as "fixed-window: the server
/// answered 500/s of 1000/s, ..."; none if the server kept up, or if the clock was virtual.
std::optional<std::string> why_overloaded(const Run& run) {
  const auto& pace = run.outcome.pace;
  if (!pace || pace->server_kept_up()) return std::nullopt;
  return fmt::format("{}: the server answered {} of {}, so its decisions came later and later",
                     run.name, trial::rate_text(pace->answered_per_second),
                     trial::rate_text(pace->sent_per_second));
}

// --- Traffic -------------------------------------------------------------------------------------

/// The requests of one run, the origin of its times (Run::begin), and the zero of its
/// timelines: an edge of a window, or for dates and times of day 1970.
struct RunTraffic {
  std::unique_ptr<traffic::Traffic> traffic = {};
  microseconds begin{0}, zero{0};
};

/// Leaves only the departures of the worst window's key, which are the ones that a picture shows.
/// `allowed`: all that the run allowed, by the times when they may proceed.
void draw_key(const std::vector<traffic::Arrival>& allowed, simulation::Outcome& outcome) {
  if (outcome.measured.worst.allowed == 0) return;
  simulation::Timeline departures(outcome.departures.zero());
  departures.begin_at(outcome.departures.begin());
  outcome.later = {.cost = 0};
  for (const auto& departure : allowed) {
    if (departure.key != outcome.measured.worst.key) continue;
    if (departure.at <= outcome.timeline.end()) {
      departures.add(departure.at, true, departure.cost);
    } else {
      outcome.later.cost += departure.cost;
      outcome.later.at = std::max(outcome.later.at, departure.at);
    }
  }
  outcome.departures = std::move(departures);
}

/// The time to the server and back. A user who may not PING gets an error, which takes as long.
microseconds round_trip_of(redis::Connection& connection) {
  const auto asked = std::chrono::steady_clock::now();
  static_cast<void>(connection.call({"PING"}));
  return std::chrono::ceil<microseconds>(std::chrono::steady_clock::now() - asked);
}

// --- The first difference between two limiters ---------------------------------------------------

/// Compares the decisions of two runs under the same traffic.
class DecisionComparison {
 public:
  /// Adds a decision of a run, in order; the second run begins with start_second().
  void add(const traffic::Traffic& traffic, const traffic::Arrival& arrival, bool allowed) {
    if (!is_second_) {
      first_.push_back(allowed);
      return;
    }
    if (found_ || next_ >= first_.size()) return;
    const bool before = first_[next_++];
    if (before == allowed) return;
    found_ = {.request = static_cast<std::int64_t>(next_),
              .at = arrival.at,
              .key = std::string(traffic.key_name(arrival.key)),
              .allowed = before};
  }
  void start_second() { is_second_ = true; }
  const std::optional<Difference>& found() const { return found_; }

 private:
  std::vector<bool> first_;  ///< what the first run allowed
  std::size_t next_ = 0;     ///< the number of decisions of the second run so far
  bool is_second_ = false;
  std::optional<Difference> found_;
};

// --- The single requests -------------------------------------------------------------------------

/// Whether a file has the single requests. Throws UsageError if a page is asked for, but the
/// traffic has more requests than it shows.
bool keeps_events(const Report& report) {
  const auto& plan = report.plan;
  const bool has_page = writes(plan, ReportFormat::kHtml);
  if (has_holders(plan) || (!has_page && !writes(plan, ReportFormat::kJson))) return false;
  const auto requests = report.recording
                            ? report.recording->counts().requests
                            : traffic::make_traffic(*plan.pattern(), plan.request)->size();
  if (requests <= trial::Events::kMost) return true;
  if (!has_page) return false;
  throw UsageError(fmt::format("-o *.html: a page shows at most {} requests, not {}",
                               grouped(trial::Events::kMost), grouped(requests)),
                   report.recording ? "draw a picture: -o FILE.svg"
                                    : "draw a picture, -o FILE.svg, or pass --requests");
}

/// Collects the requests of a run.
class EventRecorder {
 public:
  /// The traffic must outlive this.
  explicit EventRecorder(const traffic::Traffic& traffic) : traffic_(traffic) {}

  void add(const traffic::Arrival& arrival, const limiter::Decision& decision) {
    auto& keys = events_.keys;
    const auto [key, is_new] =
        numbers_.emplace(arrival.key, static_cast<std::uint32_t>(keys.size()));
    if (is_new) keys.emplace_back(traffic_.key_name(arrival.key));
    events_.single.push_back({.at = arrival.at,
                              .wait = decision.allowed ? decision.delay : decision.retry_after,
                              .remaining = decision.remaining,
                              .cost = arrival.cost,
                              .key = key->second,
                              .denied_by = decision.denied_by,
                              .allowed = decision.allowed});
  }
  trial::Events take() { return std::move(events_); }

 private:
  const traffic::Traffic& traffic_;
  trial::Events events_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  ///< by the key of the traffic
};

// --- The runs ------------------------------------------------------------------------------------

/// See run_plan().
class Runs {
 public:
  Runs(Report& report, Invocation& invocation, const trial::WriteLines& write_lines)
      : report_(report),
        plan_(report.plan),
        traffic_(*report.plan.traffic()),
        recording_(report.recording.get()),
        invocation_(invocation),
        session_(report.plan, invocation),
        write_lines_(write_lines),
        has_assertions_(!plan_.assertion_texts.empty()),
        draws_(writes(plan_, ReportFormat::kSvg) || writes(plan_, ReportFormat::kHtml) ||
               (!plan_.quiet && !invocation.json)),
        keeps_events_(keeps_events(report)) {
    if (traffic_.compare) comparison_.emplace();
  }

  void run() {
    if (!keeps_events_ && writes(plan_, ReportFormat::kJson) && !has_holders(plan_)) {
      session_.warn(fmt::format("-o *.json has no events: there are more than {} requests",
                                grouped(trial::Events::kMost)));
    }
    run_all();
    if (comparison_) compare();
    if (traffic_.suggest && !report_.interrupted) suggest();
  }

 private:
  void run_all() {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report_.interrupted; ++i) {
      const auto& candidate = plan_.candidates[i];
      report_.runs.push_back(traffic_.is_real ? run_real(i) : run_virtual(i));
      const auto& run = report_.runs.back();
      report_.interrupted = report_.interrupted || run.outcome.interrupted;
      if (const auto why = why_late(run)) {
        const auto* advice = traffic_.replay                  ? "a log with fewer requests a second"
                             : traffic_.pattern->rate.empty() ? "a lower --limit"
                                                              : "a lower --rate";
        const auto* other =
            candidate.program ? "a longer pipeline of the program" : "an idle machine";
        session_.warn(fmt::format("{}; use {}, or {}", *why, advice, other));
      }
      if (const auto why = why_overloaded(run)) session_.warn(*why);
      if (run.hint) session_.warn(fmt::format("{}: {}", run.name, *run.hint));
    }
  }

  /// Whether anything shows how right the replies were.
  bool compares_reports() const {
    return has_assertions_ || invocation_.json || writes(plan_, ReportFormat::kJson) ||
           writes(plan_, ReportFormat::kHtml);
  }

  simulation::OnDecision on_decision_of(const script::Candidate& candidate, const std::string& name,
                                        const traffic::Traffic& traffic) {
    all_allowed_.reset();
    if (has_assertions_ && !has_holders(plan_))
      all_allowed_.emplace(candidate.limits).ignore_reports();
    allowed_.reset();
    if (draws_ && draws_one_key(report_) && !has_holders(plan_)) allowed_.emplace();
    if (comparison_ && !report_.runs.empty()) comparison_->start_second();
    events_.reset();
    if (keeps_events_) events_.emplace(traffic);
    if (!write_lines_ && !all_allowed_ && !allowed_ && !comparison_ && !events_) return {};
    return [this, &name, &traffic, number = std::int64_t{0}](
               const traffic::Arrival& arrival, const limiter::Decision& decision) mutable {
      if (all_allowed_) all_allowed_->add(arrival, {.allowed = true});
      if (allowed_ && decision.allowed) {
        allowed_->push_back(
            {.at = arrival.at + decision.delay, .key = arrival.key, .cost = arrival.cost});
      }
      if (comparison_) comparison_->add(traffic, arrival, decision.allowed);
      if (events_) events_->add(arrival, decision);
      if (!write_lines_) return;
      std::string line;
      append_decision_json(line, plan_, name, ++number, traffic.key_name(arrival.key), arrival,
                           decision);
      write_lines_(line);
    };
  }

  /// A run whose times are from `begin`, with what requests and holders have in common.
  static Run begun(const script::Candidate& candidate, simulation::Outcome outcome,
                   const traffic::Traffic& traffic, microseconds begin) {
    Run run{.name = std::string(name_of(candidate)),
            .is_bundled = candidate.is_bundled(),
            .outcome = std::move(outcome),
            .begin = begin};
    for (const auto& [key, denied] : run.outcome.top_denied) {
      run.top_denied.emplace_back(traffic.key_name(key), denied);
    }
    return run;
  }

  /// The result of a run of requests.
  Run finished(const script::Candidate& candidate, simulation::Outcome outcome,
               const traffic::Traffic& traffic, microseconds begin) {
    auto run = begun(candidate, std::move(outcome), traffic, begin);
    auto& requests = std::get<trial::Requests>(run.found);
    if (events_) requests.events = events_->take();
    if (allowed_) draw_key(*allowed_, run.outcome);
    const auto& measured = run.outcome.measured;
    if (measured.allowed > 0) requests.worst_key = traffic.key_name(measured.worst.key);
    for (const auto& one : measured.worst_keys) {
      requests.worst_keys.emplace_back(traffic.key_name(one.worst.key));
    }
    if (all_allowed_) {
      const auto worst = all_allowed_->result().worst;
      requests.offered = {.worst = worst, .window = candidate.limits[worst.limit].window};
    }
    const auto highest_cost = recording_ != nullptr ? recording_->max_cost() : plan_.request.cost;
    run.hint = reply_hint(run, candidate, highest_cost == 1);
    run.why = trial::why_of(candidate, measured, highest_cost, false);
    return run;
  }

  RunTraffic virtual_traffic() const {
    if (recording_) return {.traffic = recording_->traffic(), .begin = recording_->first()};
    const auto start = plan_.request.start;
    return {.traffic = traffic::make_traffic(*traffic_.pattern, plan_.request),
            .zero = period_of(plan_.request.limit, start).start};
  }

  /// Traffic that begins as soon as the connection and the script are ready.
  RunTraffic traffic_soon(microseconds round_trip) const {
    constexpr microseconds kReady{50'000};
    constexpr int kRoundTrips = 6;  // twice as many as a run needs before its first request
    const auto start = system_time() + kReady + kRoundTrips * round_trip;
    if (recording_) {
      return {.traffic = std::make_unique<traffic::ShiftedTraffic>(recording_->traffic(),
                                                                   recording_->first(), start),
              .begin = start,
              .zero = start};
    }
    const auto request = traffic::starting_at(*traffic_.pattern, plan_.request, start);
    RunTraffic run{.traffic = traffic::make_traffic(*traffic_.pattern, request),
                   .begin = request.start};
    if (traffic_.pattern->first_in_window != nullptr) {
      run.begin = traffic::window_from(request.start, request.limit);
    }
    run.zero = run.begin;
    return run;
  }

  Run run_virtual(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    const std::string name(name_of(candidate));
    const auto [traffic, begin, zero] = virtual_traffic();
    std::unique_ptr<script::Script> script;
    std::optional<Cleaning> cleaning;
    std::unique_ptr<simulation::Decider> decider;
    // The decisions of a script that runs in this process; null for any other limiter.
    const trial::DecisionLog* log = nullptr;
    if (candidate.program) {
      decider = std::make_unique<exec::ProgramDecider>(candidate, *traffic, session_.programs());
    } else if (plan_.model && plan_.concurrency) {
      decider = std::make_unique<simulation::LeaseModelDecider>(candidate.limits.front());
    } else if (plan_.model && plan_.reserve) {
      decider = std::make_unique<simulation::BudgetModelDecider>(candidate.limits);
    } else if (plan_.model) {
      decider = std::make_unique<simulation::ModelDecider>(candidate);
    } else if (session_.place() == trial::ScriptPlace::kClocked) {
      auto clocked = session_.clocked(candidate, *traffic);
      session_.warn_of_change(*clocked->script());
      decider = std::move(clocked);
    } else if (session_.server() == nullptr) {
      auto logged =
          std::make_unique<trial::LoggedDecider>(candidate, *traffic, invocation_.interrupt);
      session_.warn_of_change(*logged->script());
      log = &logged->log();
      decider = std::move(logged);
    } else {
      script =
          make_script(candidate, *traffic, session_.server()->next_prefix(), {.keys_only = true});
      cleaning.emplace(*session_.server(), *script);
      auto scripts =
          std::make_unique<simulation::ScriptDecider>(session_.server()->connection(), *script);
      const auto timeout = session_.server()->timeout();
      scripts->stop_at(invocation_.interrupt, timeout, timeout);
      decider = std::move(scripts);
      session_.warn_of_change(*script);
    }
    const auto on_decision = on_decision_of(candidate, name, *traffic);
    const auto on_progress = [&, size = traffic->size()](std::int64_t done) {
      const auto runs = static_cast<std::int64_t>(plan_.candidates.size());
      session_.show(
          number, static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(size, 1)),
          fmt::format("{} requests", runs * size));
    };
    const auto end = [&, &names = *traffic](simulation::Outcome& outcome) {
      if (!outcome.interrupted) {
        decider->finish();
        if (log != nullptr) outcome.bytes_per_key = confirm(candidate, names, *log);
      }
      session_.progress().clear();  // cleaning up may write a warning
    };
    const auto& interrupt = invocation_.interrupt;
    if (has_holders(plan_)) {
      const auto& holders = plan_.concurrency ? plan_.leases.hold : plan_.budget.spend;
      auto found =
          simulation::run_holders(*traffic, *decider, trial::hold_rules_of(candidate, plan_),
                                  holders, interrupt, on_decision, on_progress, zero);
      end(found.outcome);
      return finished(candidate, std::move(found), *traffic, begin);
    }
    auto outcome =
        simulation::run_virtually(*traffic, *decider, candidate.limits, interrupt, on_decision,
                                  on_progress, compares_reports() || !candidate.is_bundled(), zero);
    end(outcome);
    return finished(candidate, std::move(outcome), *traffic, begin);
  }

  /// Lets a server repeat what a script in this process decided; see Confirmer::confirm().
  std::optional<double> confirm(const script::Candidate& candidate, const traffic::Traffic& traffic,
                                const trial::DecisionLog& log) {
    const auto bytes_per_key = session_.confirmer().confirm(candidate, traffic, log);
    session_.report_confirmation(report_);
    return bytes_per_key;
  }

  /// A run of leases or reservations, of which neither windows nor reported values are known.
  static Run finished(const script::Candidate& candidate, simulation::HolderOutcome found,
                      const traffic::Traffic& traffic, microseconds begin) {
    auto run = begun(candidate, std::move(found.outcome), traffic, begin);
    auto& holders = run.found.emplace<trial::Holders>();
    auto& report = holders.report = std::move(found.report);
    if (candidate.foreign) {  // its replies to releases and settles are not read
      report.refused.reset();
      report.refused_while_held.reset();
    }
    if (report.most.both() > 0) holders.key = traffic.key_name(report.most.key);
    if (report.most_ever.both() > 0) holders.ever_key = traffic.key_name(report.most_ever.key);
    if (!run.is_bundled) run.hint = trial::holders_hint(run);
    return run;
  }

  /// Prepares all keys of the traffic before a run under the real clock, in which a request may
  /// overtake what prepares its key.
  void prepare(script::Script& script, redis::Connection& connection) const {
    const auto keys = recording_ != nullptr ? recording_->keys() : plan_.request.keys;
    script.load(connection);
    for (std::uint32_t key = 0; key < keys; ++key) {
      invocation_.interrupt.check();
      script::prepare(script, connection, {.at = system_time(), .key = key});
    }
  }

  /// What all runs of the traffic under the real clock have in common.
  simulation::RealRun real_run_of(std::size_t number, const std::string& name,
                                  const RunTraffic& run) {
    const auto& candidate = plan_.candidates[number];
    const auto requests = as_double(std::max<std::int64_t>(run.traffic->size(), 1));
    const auto on_progress = [this, number, &name, requests](const simulation::RealProgress& now) {
      if (now.until_first.count() > 0) {
        const auto left = std::chrono::ceil<std::chrono::seconds>(now.until_first);
        return session_.progress().update(
            fmt::format("waiting {} s for the edge of a window; Ctrl-C stops", left.count()));
      }
      session_.show(number, as_double(now.sent) / requests,
                    fmt::format("the traffic; {}: {} allowed, {} denied", escaped_message(name),
                                now.allowed, now.denied));
    };
    return {.limits = candidate.limits,
            .interrupt = &invocation_.interrupt,
            .on_decision = on_decision_of(candidate, name, *run.traffic),
            .on_progress = on_progress,
            .zero = run.zero};
  }

  Run run_program_in_real_time(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    const std::string name(name_of(candidate));
    const auto names = virtual_traffic().traffic;
    exec::Program program(candidate, *names, session_.programs());
    program.start_and_wait();
    const auto traffic = traffic_soon(microseconds{0});
    const auto run = real_run_of(number, name, traffic);
    auto outcome = exec::run_in_real_time(program, *traffic.traffic, run);
    if (!outcome.interrupted) program.finish();
    session_.progress().clear();
    return finished(candidate, std::move(outcome), *traffic.traffic, traffic.begin);
  }

  Run run_real(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    if (candidate.program) return run_program_in_real_time(number);
    const std::string name(name_of(candidate));
    auto& connection = session_.server()->connection();
    const script::ScriptEnvironment environment{.time = script::ScriptTime::kHost,
                                                .keys_only = !session_.server()->is_private()};
    const auto prefix = session_.server()->next_prefix();
    const auto names = virtual_traffic().traffic;
    const auto setup = make_script(candidate, *names, prefix, environment);
    const Cleaning cleaning_of_setup(*session_.server(), *setup);
    if (candidate.foreign && !candidate.foreign->setup.empty()) {
      prepare(*setup, connection);
    }
    const auto traffic = traffic_soon(round_trip_of(connection));
    const auto script = make_script(candidate, *traffic.traffic, prefix, environment);
    const Cleaning cleaning(*session_.server(), *script);
    auto run = real_run_of(number, name, traffic);
    run.script = script.get();
    run.connection = &connection;
    run.timeout = session_.server()->timeout();
    auto outcome = simulation::run_in_real_time(*traffic.traffic, run);
    session_.progress().clear();  // cleaning up may write a warning
    session_.warn_of_change(*script);
    return finished(candidate, std::move(outcome), *traffic.traffic, traffic.begin);
  }

  /// Ctrl-C stops the suggestions; the report keeps the runs.
  void suggest() {
    const simulation::MakeDecider make_program = [this](const script::Candidate& candidate,
                                                        const traffic::Traffic& names) {
      return std::make_unique<exec::ProgramDecider>(candidate, names, session_.programs());
    };
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      auto& run = report_.runs[i];
      auto& requests = std::get<trial::Requests>(run.found);
      const auto& candidate = plan_.candidates[i];
      requests.burst = candidate.limits.front().burst;
      requests.suggestion = simulation::suggest_limit(
          [this] { return virtual_traffic().traffic; }, candidate, *traffic_.suggest,
          invocation_.interrupt,
          [&](double share, std::int64_t limit) {
            session_.show(
                i, share,
                fmt::format("the suggestions; {}: trying {}", escaped_message(run.name), limit));
          },
          candidate.program ? make_program : simulation::MakeDecider());
    }
    session_.progress().clear();
  }

  /// If a difference may be due to real time, compares again: the next runs may be exact. Not if
  /// the decisions are written as they come.
  void compare() {
    constexpr int kTries = 3;
    report_.difference = comparison_->found();
    for (int i = 1; i < kTries && !write_lines_ && difference_may_be_timing_noise(); ++i) {
      session_.silence();
      report_.runs.clear();
      comparison_.emplace();
      run_all();
      report_.difference = comparison_->found();
    }
    if (!difference_may_be_timing_noise()) return;
    warn(
        "warning: the server was held up while TTLs ran, so that real time may have made the "
        "difference; use an idle machine",
        invocation_.command);
  }

  bool difference_may_be_timing_noise() const {
    if (!report_.difference || report_.interrupted) return false;
    return std::any_of(report_.runs.begin(), report_.runs.end(),
                       [](const Run& run) { return run.outcome.was_stalled; });
  }

  Report& report_;
  const Plan& plan_;
  const TrafficPlan& traffic_;
  const replay::Recording* recording_;  ///< null if a pattern makes the traffic
  Invocation& invocation_;
  trial::Session session_;
  const trial::WriteLines& write_lines_;
  bool has_assertions_, draws_, keeps_events_;
  /// When the requests that the current run allowed proceed, for all keys; a picture draws one key.
  std::optional<std::vector<traffic::Arrival>> allowed_;
  /// How a limiter that allows everything would have treated the requests of the current run.
  std::optional<simulation::Measurement> all_allowed_;
  std::optional<EventRecorder> events_;           ///< the requests of the current run, for files
  std::optional<DecisionComparison> comparison_;  ///< of the decisions of the two runs
};

}  // namespace

std::shared_ptr<const replay::Recording> read_recording(const Plan& plan,
                                                        const Invocation& invocation) {
  if (!plan.traffic()->replay) return nullptr;
  Progress progress(shows_progress(plan));
  const auto recording = std::make_shared<const replay::Recording>(
      *plan.traffic()->replay, invocation.interrupt, [&](std::int64_t bytes, std::int64_t total) {
        const auto done = static_cast<double>(bytes) / 1e6, all = static_cast<double>(total) / 1e6;
        if (total == 0) return progress.update(fmt::format("{:.0f} MB read; Ctrl-C stops", done));
        progress.update(std::min(1.0, done / all), fmt::format("{:.0f} MB read", all));
      });
  progress.clear();
  warn_of_lines(*recording, invocation.command);
  if (!has_holders(plan)) {
    require_costs(plan.candidates, *recording, "--fields cost= counts every request as 1");
  }
  return recording;
}

void run_plan(Report& report, Invocation& invocation, const trial::WriteLines& write_lines) {
  Runs(report, invocation, write_lines).run();
}

}  // namespace rlctl::cli::burst
