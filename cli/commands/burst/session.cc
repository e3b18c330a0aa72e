#include "cli/commands/burst/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "adversary/branching.h"
#include "adversary/exhaustive.h"
#include "base/text.h"
#include "cli/commands/burst/picture.h"
#include "cli/commands/burst/progress.h"
#include "cli/commands/burst/server.h"
#include "cli/errors/failure.h"
#include "cli/terminal/terminal.h"
#include "limiter/why.h"
#include "replay/spool.h"
#include "traffic/measurement.h"
#include "traffic/real_run.h"
#include "traffic/virtual_run.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;

// --- What the results suggest --------------------------------------------------------------------

/// Why a bundled algorithm treated the traffic so, see Run::why; none if it is not known.
std::optional<std::string> why_of(const traffic::Candidate& candidate,
                                  const traffic::Measured& measured, std::int64_t highest_cost,
                                  bool is_search) {
  // Which of several limits denied a request is not known.
  const bool is_ambiguous = candidate.limits.size() > 1 && measured.worst.ratio <= 1;
  if (candidate.foreign || is_ambiguous) return std::nullopt;
  const auto& worst = measured.worst;
  return limiter::why(*candidate.algorithm, {.limit = candidate.limits[worst.limit],
                                             .cost = highest_cost,
                                             .denied = measured.denied,
                                             .keys_denied = measured.keys_denied,
                                             .has_several_keys = measured.keys > 1,
                                             .allowed = worst.allowed,
                                             .span = worst.span,
                                             .edge = worst.edge,
                                             .after_edge = worst.after_edge,
                                             .longest_delay = measured.longest_delay,
                                             .is_search = is_search,
                                             .text_of = is_search ? exact_text : span_text});
}

/// "fixed-window: the server answered 500/s of 1000/s, ..."; none if it kept up, or if the traffic
/// was too short to tell.
std::optional<std::string> why_overloaded(const Run& run) {
  constexpr double kLongEnough = 1;  // seconds: the wait for the last answers hardly matters
  const auto& timing = run.outcome.timing;
  if (!timing || timing->seconds < kLongEnough) return std::nullopt;
  if (timing->achieved_per_second >= traffic::Timing::kKeptUp * timing->sent_per_second)
    return std::nullopt;
  return fmt::format(
      "{}: the server answered {} of {}, so times grow with the length of the traffic", run.name,
      rate_text(timing->achieved_per_second), rate_text(timing->sent_per_second));
}

std::string inverted_text(const traffic::AllowedWhen& when) {
  const std::string what =
      "the reply may be inverted: the first request was denied, and a later one was allowed; try "
      "--allowed-when ";
  if (when.named == nullptr) return what + "'not (" + escape(when.expression.source()) + ")'";
  if (when.named->opposite.empty()) return what + "with an expression";
  return what + std::string(when.named->opposite);
}

std::string replies_text(const traffic::RepliesSeen& replies) {
  std::string text;
  for (const auto& reply : replies.first) text += (text.empty() ? "" : ", ") + reply;
  return text;
}

/// What the replies of a script suggest: that it returns nothing, or that --allowed-when does not
/// fit them. None if they look right, and for a bundled algorithm.
std::optional<std::string> reply_hint(const Run& run, const traffic::Candidate& candidate) {
  const auto& measured = run.outcome.measured;
  const auto& replies = run.outcome.replies;
  if (!candidate.foreign || measured.sent == 0 || replies.first.empty()) return std::nullopt;
  const auto& when = candidate.foreign->reading.allowed_when;
  const bool is_wrong = measured.allowed == 0 || measured.worst.ratio > 1;
  const bool is_always =
      when.named != nullptr && when.named->wait == traffic::NamedCondition::Wait::kOfRequest;
  if (replies.all_nil && is_wrong && !is_always) {
    return "the script returns nothing: every reply was nil; it must return whether the request "
           "is allowed";
  }
  if (measured.looks_inverted) return inverted_text(when);
  const bool is_nonzero = when.named == &traffic::named_conditions().front();
  if (is_nonzero && replies.any_negative) {
    const bool is_array = replies.first.front().starts_with('[');
    return fmt::format(
        "a negative reply counts as allowed; if it denies, try --allowed-when '{} >= 0'",
        is_array ? "r[1]" : "r");
  }
  const auto limit = candidate.limits.front().limit;
  if (is_nonzero && replies.all_count && replies.highest > limit) {
    return fmt::format(
        "nothing was denied, and the replies were {} up to {}: if the script returns a count, try "
        "--allowed-when '<=limit'",
        replies_text(replies), replies.highest);
  }
  if (measured.allowed > 0) return std::nullopt;
  return fmt::format("nothing was allowed: the first {} {}; see --allowed-when",
                     replies.first.size() == 1 ? "reply was" : "replies were",
                     replies_text(replies));
}

// --- Traffic -------------------------------------------------------------------------------------

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
  microseconds begin{0}, zero{0};
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
    departures.add(microseconds{record.at_us}, true, record.cost);
  }
  outcome.departures = std::move(departures);
}

/// The time to the server and back. A user who may not PING gets an error, which takes as long.
microseconds round_trip_of(redis::Connection& connection) {
  const auto asked = std::chrono::steady_clock::now();
  static_cast<void>(connection.call({"PING"}));
  return std::chrono::ceil<microseconds>(std::chrono::steady_clock::now() - asked);
}

/// Traffic that begins as soon as the connections and the script are ready.
RunTraffic traffic_soon(const Plan& plan, const replay::Recording* recording,
                        microseconds round_trip) {
  constexpr microseconds kReady{50'000}, kForEachClient{200};
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

// --- The first difference between two limiters ---------------------------------------------------

/// Compares the decisions of two runs under the same traffic.
class DecisionComparison {
 public:
  /// Adds a decision of a run, in order; the second run begins with start_second().
  void add(const traffic::Arrival& arrival, bool allowed) {
    if (!is_second_) {
      first_.push_back(allowed);
      return;
    }
    if (found_ || next_ >= first_.size()) return;
    const bool before = first_[next_++];
    if (before == allowed) return;
    found_ = {.request = static_cast<std::int64_t>(next_), .arrival = arrival, .allowed = before};
  }
  void start_second() { is_second_ = true; }
  [[nodiscard]] const std::optional<FoundDifference>& found() const { return found_; }

 private:
  std::vector<bool> first_;  ///< what the first run allowed
  std::size_t next_ = 0;     ///< of the second run
  bool is_second_ = false;
  std::optional<FoundDifference> found_;
};

/// The requests of the key up to the difference.
adversary::Schedule schedule_of(const FoundDifference& found, traffic::Traffic& traffic) {
  adversary::Schedule schedule;
  traffic::Arrival arrival;
  for (std::int64_t i = 0; i < found.request && traffic.next(arrival); ++i) {
    if (arrival.key == found.arrival.key) schedule.push_back({arrival.at, arrival.cost});
  }
  return schedule;
}

/// Shrinks a difference: `traffic` is the same again, from its beginning. `server`: null with
/// --model. `keeps_on` may end the shrinking early.
void shrink_difference(FoundDifference& found, const Plan& plan, traffic::Traffic& traffic,
                       Server* server, const adversary::KeepsShrinking& keeps_on) {
  constexpr std::int64_t kBudget = 200'000;
  const auto schedule = schedule_of(found, traffic);
  found.key = traffic.key_name(found.arrival.key);
  const auto budget = std::max(kBudget, 20 * static_cast<std::int64_t>(schedule.size()));
  if (keeps_on && !keeps_on(0, budget)) return;
  LimiterTrial one(plan.candidates[0], server), other(plan.candidates[1], server);
  const auto difference = adversary::first_difference(one.trial(), other.trial(), schedule);
  found.vanishes_alone = !difference;
  if (!difference) return;
  found.shrunk = adversary::shrunk(one.trial(), other.trial(), *difference, plan.limits.front(),
                                   budget, keeps_on);
}

// --- Searches ------------------------------------------------------------------------------------

/// The placeholder whose rounding may explain a finding, see SearchFindings::rounded_by; else null.
const traffic::Placeholder* rounding_of(const traffic::Candidate& candidate, const Plan& plan) {
  // If the time is coarser, a finding shows more than the rounding.
  constexpr int kTicksOfWindow = 10;
  if (!candidate.foreign) return nullptr;
  const auto* rounded = coarsest_time(*candidate.foreign);
  const bool matters = rounded != nullptr && rounded->tick > plan.search->tick &&
                       kTicksOfWindow * rounded->tick <= plan.limits.front().window;
  return matters ? rounded : nullptr;
}

/// The outcome of the schedule that allows the most. The measurement knows no refunds.
traffic::Outcome outcome_of(const SearchFindings& search, const Plan& plan) {
  const auto& [schedule, answers, score] = search.result.most;
  const traffic::OnDecision no_callback;
  traffic::OutcomeRecorder recorder(plan.limits, no_callback, false, search_base(plan));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto& [at, cost] = schedule[i];
    if (cost < 0) continue;
    recorder.add({.at = at, .cost = cost}, {.allowed = answers[i].allowed,
                                            .remaining = limiter::kNotTold,
                                            .retry_after = limiter::kTimeNotTold,
                                            .reset_after = limiter::kTimeNotTold,
                                            .delay = answers[i].delay});
  }
  auto outcome = recorder.finish();
  auto& worst = outcome.measured.worst;
  worst.allowed = score.worst;
  worst.from = score.worst_from;
  worst.span = score.worst_span;
  worst.ratio = search.ratio_of(search.result.most);
  outcome.interrupted = search.result.interrupted;
  return outcome;
}

// --- The session ---------------------------------------------------------------------------------

/// See run_plan().
class Session {
 public:
  Session(Report& report, Invocation& invocation, const OnNamedDecision& on_decision,
          bool has_assertions, bool draws)
      : report_(report),
        plan_(report.plan),
        recording_(report.recording.get()),
        invocation_(invocation),
        progress_(plan_, recording_),
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
      report_.runs.push_back(plan_.real ? run_real(i) : run_or_blame(i));
      const auto& run = report_.runs.back();
      report_.interrupted = run.outcome.interrupted;
      if (is_again_) continue;
      if (const auto why = why_invalid(run)) {
        warn(fmt::format("warning: {}; use {}, or an idle machine", *why, advice_of(plan_)),
             invocation_.command);
      }
      if (const auto why = why_overloaded(run)) warn("warning: " + *why, invocation_.command);
      if (run.hint) {
        warn(fmt::format("warning: {}: {}", run.name, *run.hint), invocation_.command);
      }
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
               const traffic::Traffic& traffic, microseconds begin) {
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

  /// A run under the virtual clock. If a script never ends, runs it again in the same way, to name
  /// the request to blame.
  Run run_or_blame(std::size_t number) {
    const auto run = [&](bool one_at_a_time) {
      return plan_.search ? search(number, one_at_a_time) : run_virtual(number, one_at_a_time);
    };
    try {
      return run(false);
    } catch (const redis::Error& error) {
      if (!server_ || !server_->may_retry(error, plan_.candidates[number])) throw;
      server_ = std::make_unique<Server>(invocation_, plan_.candidates);
      static_cast<void>(run(true));
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
                       server_->is_private() ? microseconds{0} : timeout);
      if (one_at_a_time) scripts->send_one_at_a_time();
      decider = std::move(scripts);
      if (!one_at_a_time) warn_of_change(*script);
    }
    const auto on_decision =
        one_at_a_time ? traffic::OnDecision() : on_decision_of(candidate, name, *traffic);
    auto outcome = traffic::run_virtually(
        *traffic, *decider, candidate.limits, invocation_.interrupt, on_decision,
        [&, size = traffic->size()](std::int64_t done) {
          const auto all = static_cast<double>(std::max<std::int64_t>(size, 1));
          const auto runs = static_cast<double>(plan_.candidates.size());
          progress_.update(number, static_cast<double>(done) / all,
                           fmt::format("{:.0f} requests", runs * static_cast<double>(size)));
        },
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

  Run search(std::size_t number, bool one_at_a_time) {
    const auto& candidate = plan_.candidates[number];
    Run run{.name = std::string(name_of(candidate)), .is_bundled = !candidate.foreign};
    auto& findings = run.search.emplace();
    findings.limit = plan_.limits.front().limit;
    findings.rounded_by = rounding_of(candidate, plan_);
    LimiterTrial limiter(candidate, server_.get());
    auto* script = limiter.script_trial();
    if (script != nullptr && one_at_a_time) script->send_one_at_a_time();
    findings.result = plan_.search->exhaustive ? try_all(number, limiter, findings)
                                               : search(number, limiter, findings);
    run.outcome = outcome_of(findings, plan_);
    if (script != nullptr) run.outcome.replies = script->replies();
    run.hint = reply_hint(run, candidate);
    std::int64_t highest_cost = 1;
    for (const auto& request : findings.result.most.schedule) {
      highest_cost = std::max(highest_cost, request.cost);
      findings.has_refunds |= request.cost < 0;
    }
    if (!findings.has_refunds) {
      run.why = why_of(candidate, run.outcome.measured, highest_cost, true);
    }
    if (findings.result.is_unbounded) run.why = kUnbounded;
    progress_.clear();  // cleaning up may write a warning
    return run;
  }

  [[nodiscard]] adversary::SearchRequest request_for(const SearchFindings& findings) const {
    const auto& search = *plan_.search;
    const auto* rounded = findings.rounded_by;
    return {.limit = plan_.limits.front(),
            .costs = search.costs,
            .budget = search.budget,
            .seed = plan_.request.seed,
            .base = search_base(plan_),
            .tick = search.tick,
            .rounding = rounded != nullptr ? rounded->tick : microseconds{0},
            .steps_back = search.steps_back()};
  }

  [[nodiscard]] adversary::SearchResult search(std::size_t number, LimiterTrial& limiter,
                                               const SearchFindings& findings) {
    const auto runs = static_cast<std::int64_t>(plan_.candidates.size());
    return adversary::search(limiter.trial(), request_for(findings), invocation_.interrupt,
                             [&](std::int64_t asked, std::int64_t of, std::int64_t worst) {
                               progress_.update(
                                   number, static_cast<double>(asked) / static_cast<double>(of),
                                   fmt::format("{} requests; {}: {} within a window", runs * of,
                                               name_of(plan_.candidates[number]), worst));
                             });
  }

  [[nodiscard]] adversary::SearchResult try_all(std::size_t number, LimiterTrial& limiter,
                                                const SearchFindings& findings) {
    const auto& candidate = plan_.candidates[number];
    const auto request = request_for(findings);
    const auto requests = *plan_.search->exhaustive;
    const auto on_progress = [&](std::int64_t tried, double share, std::int64_t worst) {
      progress_.update(number, share,
                       fmt::format("all schedules; {}: {} tried, {} within a window",
                                   name_of(candidate), grouped(tried), worst));
    };
    const auto& interrupt = invocation_.interrupt;
    if (auto* script = limiter.script_trial()) {
      return adversary::search_all(*script, request, requests, interrupt, on_progress);
    }
    adversary::ModelBranching branching(candidate);
    return adversary::search_all(branching, limiter.trial(), request, requests, interrupt,
                                 on_progress);
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

}  // namespace

std::shared_ptr<const replay::Recording> read_recording(const Plan& plan,
                                                        const Invocation& invocation) {
  if (!plan.replay) return nullptr;
  Progress progress(shows_progress(plan));
  const auto recording = std::make_shared<const replay::Recording>(
      *plan.replay, invocation.interrupt, [&](std::int64_t bytes, std::int64_t total) {
        progress.update(reading_progress(bytes, total));
      });
  progress.clear();
  warn_of_lines(*recording, invocation.command);
  require_costs(plan.candidates, *recording);
  return recording;
}

void run_plan(Report& report, Invocation& invocation, const OnNamedDecision& on_decision,
              bool has_assertions, bool draws) {
  Session(report, invocation, on_decision, has_assertions, draws).run();
}

}  // namespace rlctl::cli::burst
