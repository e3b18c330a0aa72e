#include "cli/commands/burst/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "adversary/budgets.h"
#include "adversary/exhaustive.h"
#include "adversary/leases.h"
#include "adversary/trial.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/budgets.h"
#include "cli/commands/burst/holder_search.h"
#include "cli/commands/burst/leases.h"
#include "cli/commands/burst/measures.h"
#include "cli/commands/burst/picture.h"
#include "cli/commands/burst/server.h"
#include "cli/errors/failure.h"
#include "cli/server/programs.h"
#include "cli/terminal/output.h"
#include "exec/program.h"
#include "exec/real_run.h"
#include "limiter/algorithm.h"
#include "traffic/measurement.h"
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
  if (!candidate.is_bundled() || is_ambiguous) return std::nullopt;
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

/// Says that decisions came later than requests were sent, such as "fixed-window: the server
/// answered 500/s of 1000/s, ..."; none if the server kept up, or if the clock was virtual.
std::optional<std::string> why_overloaded(const Run& run) {
  const auto& pace = run.outcome.pace;
  if (!pace || pace->server_kept_up()) return std::nullopt;
  return fmt::format("{}: the server answered {} of {}, so its decisions came later and later",
                     run.name, rate_text(pace->answered_per_second),
                     rate_text(pace->sent_per_second));
}

std::string inverted_text(const traffic::AllowedWhen& when) {
  const std::string what =
      "the reply may be inverted: the first request was denied, and a later one was allowed; try "
      "--allowed-when ";
  if (when.named == nullptr) {
    return what + shell_quoted(fmt::format("not ({})", when.expression->source()));
  }
  if (when.named->opposite.empty()) return what + "with an expression";
  return what + std::string(when.named->opposite);
}

/// Whether a reply of the script is a wait, which is 0 if the request is allowed.
bool replies_with_wait(const traffic::ForeignLimiter& foreign) {
  const auto* named = foreign.reading.allowed_when.named;
  return named != nullptr && named->name == "zero" && foreign.reading.retry_after;
}

/// How the replies should be read instead; only if that explains every reply. None if they look
/// right.
std::optional<std::string> reading_hint(const Run& run, const traffic::ForeignLimiter& foreign,
                                        const limiter::Limit& limit) {
  const auto& replies = run.outcome.replies;
  const auto* named = foreign.reading.allowed_when.named;
  const bool is_inverted = replies.inverted.fits(limit);
  if (is_inverted && (named == nullptr || !named->opposite.empty())) {
    return inverted_text(foreign.reading.allowed_when);
  }
  if ((named != nullptr && named->is_always()) || replies.as_read.fits(limit)) return std::nullopt;
  for (const auto& [expression, reading] : replies.others) {
    if (!reading.fits(limit)) continue;
    return "the replies fit the limit if they are read with --allowed-when " +
           shell_quoted(expression.source());
  }
  if (!is_inverted) return std::nullopt;
  return inverted_text(foreign.reading.allowed_when);
}

/// That the limiter's own limit seems to be another, for one of these reasons; none if it does not.
std::optional<std::string> early_denial_hint(const traffic::Measured& measured,
                                             const limiter::Limit& limit, bool costs_one,
                                             std::string_view reasons) {
  // If nothing was allowed to a key, it may share its state with another.
  if (measured.denied_after.value_or(0) <= 0) return std::nullopt;
  return fmt::format("denied after {}, not {}: {}",
                     counted(*measured.denied_after, costs_one ? "request" : "unit"),
                     std::min(limit.limit, limit.burst_or_limit()), reasons);
}

/// What the replies of a script suggest: that it may return nothing, that --allowed-when does not
/// fit them, or that its limit is another. None if they look right, and for a bundled algorithm.
/// `costs_one`: each request costs 1.
std::optional<std::string> reply_hint(const Run& run, const traffic::Candidate& candidate,
                                      bool costs_one) {
  const auto& measured = run.outcome.measured;
  const auto& replies = run.outcome.replies;
  if (candidate.program) {
    return early_denial_hint(measured, candidate.limits.front(), costs_one,
                             "the limit is not --limit, or --burst is missing");
  }
  if (!candidate.foreign || measured.sent == 0 || replies.first.empty()) return std::nullopt;
  const auto& when = candidate.foreign->reading.allowed_when;
  const bool is_wrong = measured.allowed == 0 || measured.worst.ratio > 1;
  const bool is_always = when.named != nullptr && when.named->is_always();
  if (replies.all_nil && is_wrong && !is_always) {
    return "every reply was nil, which the server makes of false, too; if the script returns "
           "nothing, let it return whether the request is allowed";
  }
  const auto& limit = candidate.limits.front();
  auto hint = reading_hint(run, *candidate.foreign, limit);
  const auto text = early_denial_hint(
      measured, limit, costs_one,
      "the limit is not --limit, --burst is missing, or --allowed-when does not fit the reply");
  if (text) {
    return hint ? *text + "; " + *hint : text;
  }
  // Virtual time leaves out the last ms of a TTL.
  const bool is_wait =
      replies_with_wait(*candidate.foreign) && traffic::may_read_ttl(*candidate.foreign);
  if (!hint && run.search && is_wait && measured.allowed > 0) {
    return "a denial whose wait is 0 counts as allowed: PTTL replies 0 in the last millisecond of "
           "a "
           "key, and TTL rounds; virtual time does not try that moment, --clock real does";
  }
  if (hint || measured.allowed > 0) return hint;
  return fmt::format("nothing was allowed: the first {} {}; see --allowed-when",
                     replies.first.size() == 1 ? "reply was" : "replies were",
                     fmt::join(replies.first, ", "));
}

/// The same about leases: only that nothing was allowed.
std::optional<std::string> lease_hint(const Run& run) {
  const auto& replies = run.outcome.replies;
  if (run.outcome.measured.allowed > 0 || replies.first.empty()) return std::nullopt;
  return fmt::format("nothing was allowed: the first {} {}; see --allowed-when",
                     replies.first.size() == 1 ? "reply was" : "replies were",
                     fmt::join(replies.first, ", "));
}

// --- Progress ------------------------------------------------------------------------------------

bool shows_progress(const Plan& plan) {
  return !plan.quiet && is_terminal(STDERR_FILENO);
}

/// The parts of the line, each with its rank.
using Parts = std::vector<std::pair<int, std::string>>;

/// Drops the parts with the lowest ranks until the line fits.
std::string fitting(Parts parts, std::size_t columns) {
  for (;;) {
    std::string line;
    for (const auto& [rank, text] : parts) line.append(line.empty() ? "" : "  ").append(text);
    if (parts.size() <= 1 || display_width(line) <= columns) return line;
    parts.erase(std::min_element(parts.begin(), parts.end()));
  }
}

/// The duration of the whole run: as planned, or estimated from the share of requests sent.
double seconds_in_all(const RunInProgress& run, const traffic::RealProgress& progress) {
  if (run.seconds) return std::max(*run.seconds, progress.seconds);
  if (progress.sent == 0) return progress.seconds;
  const auto share = static_cast<double>(progress.sent) / static_cast<double>(run.requests);
  return progress.seconds / std::min(share, 1.0);
}

/// "eta 42s", "eta 12d"
std::string left_text(double seconds) {
  constexpr double kDay = 86'400, kMostDays = 9999;
  if (seconds < kDay) return fmt::format("eta {:.0f}s", std::ceil(seconds));
  if (seconds < kMostDays * kDay) return fmt::format("eta {:.0f}d", std::ceil(seconds / kDay));
  return fmt::format("eta >{:.0f}d", kMostDays);
}

Parts parts_of(const RunInProgress& run, const traffic::RealProgress& progress) {
  Parts parts;
  if (run.of > 1) parts.push_back({9, fmt::format("{}/{}", run.number + 1, run.of)});
  parts.push_back({1, escaped_message(run.name)});
  if (progress.until_first.count() > 0) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(progress.until_first);
    parts.push_back({10, fmt::format("waiting {} s for the edge of a window", left.count())});
    parts.push_back({0, "Ctrl-C stops"});
    return parts;
  }
  const auto all = seconds_in_all(run, progress);
  parts.push_back({10, fmt::format("{:.1f}/{:.1f}s", progress.seconds, all)});
  parts.push_back({6, fmt::format("{} allowed", progress.allowed)});
  parts.push_back({5, fmt::format("{} denied", progress.denied)});
  const auto runs_left = static_cast<double>(run.of - run.number - 1);
  parts.push_back({8, left_text(all * (1 + runs_left) - progress.seconds)});
  parts.push_back({0, "Ctrl-C stops"});
  return parts;
}

Parts parts_of(const SearchInProgress& search) {
  Parts parts;
  if (search.of > 1) parts.push_back({9, fmt::format("{}/{}", search.number + 1, search.of)});
  parts.push_back({3, escaped_message(search.name)});
  if (search.share < 1) parts.push_back({7, fmt::format("{:.0f}%", 100 * search.share)});
  parts.push_back({10, search.tried});
  const auto rate = static_cast<double>(search.count) / std::max(search.seconds, 1e-6);
  if (search.share < 1) parts.push_back({5, rate_text(rate)});
  parts.push_back({4, fmt::format("{} {}", search.worst_is, search.worst)});
  const auto runs_left = static_cast<double>(search.of - search.number - 1);
  if (search.share >= 1) {
    parts.push_back({8, "making findings small"});
  } else if (search.share > 0) {
    const auto all = search.seconds / search.share;
    parts.push_back({8, left_text(all * (1 + runs_left) - search.seconds)});
  }
  parts.push_back({0, "Ctrl-C stops"});
  return parts;
}

/// How long a run will take, if the plan limits its time and not its number of requests.
std::optional<double> planned_seconds(const Plan& plan, const replay::Recording* recording) {
  using Seconds = std::chrono::duration<double>;
  const auto& request = plan.request;
  if (recording != nullptr) return Seconds(recording->last() - recording->first()).count();
  if (request.requests || plan.pattern->rate.empty()) return std::nullopt;
  if (request.duration) return Seconds(*request.duration).count();
  return Seconds(traffic::kPatternWindows * request.limit.window).count();
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
void draw_key(const std::vector<traffic::Arrival>& allowed, traffic::Outcome& outcome) {
  if (outcome.measured.worst.allowed == 0) return;
  traffic::Timeline departures(outcome.departures.zero());
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
  std::size_t next_ = 0;     ///< of the second run
  bool is_second_ = false;
  std::optional<Difference> found_;
};

// --- Searches ------------------------------------------------------------------------------------

/// See SearchFindings::clock.
const traffic::Placeholder* clock_of(const traffic::Candidate& candidate, microseconds window) {
  constexpr int kTicksOfWindow = 100;
  constexpr microseconds kExact{1};
  if (!candidate.foreign || names_time(*candidate.foreign)) return nullptr;
  const auto* clock = finest_time(*candidate.foreign);
  const bool is_used =
      clock != nullptr && clock->tick > kExact && kTicksOfWindow * clock->tick <= window;
  return is_used ? clock : nullptr;
}

/// The outcome of a finding's schedule. The measurement knows no refunds.
traffic::Outcome outcome_of(const adversary::Finding& finding, const Plan& plan) {
  const auto& schedule = finding.schedule;
  const auto& answers = finding.answers;
  const traffic::OnDecision no_callback;
  traffic::OutcomeRecorder recorder(plan.limits, no_callback, false, search_base(plan));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto at = schedule[i].at;
    const auto cost = schedule[i].cost;
    if (cost < 0) continue;
    recorder.add({.at = at, .cost = cost}, {.allowed = answers[i].allowed,
                                            .remaining = limiter::kNotTold,
                                            .retry_after = limiter::kTimeNotTold,
                                            .reset_after = limiter::kTimeNotTold,
                                            .delay = answers[i].delay});
  }
  return recorder.finish(true);
}

// --- The session ---------------------------------------------------------------------------------

/// See run_plan().
class Session {
 public:
  Session(Report& report, Invocation& invocation, const OnNamedDecision& on_decision)
      : report_(report),
        plan_(report.plan),
        recording_(report.recording.get()),
        invocation_(invocation),
        progress_(shows_progress(plan_)),
        on_decision_(on_decision),
        has_assertions_(!plan_.assertion_texts.empty()),
        draws_(writes(plan_, ReportFormat::kSvg) || writes(plan_, ReportFormat::kHtml) ||
               (!plan_.quiet && !invocation.json)) {
    if (asks_server()) server_ = std::make_unique<Server>(invocation, plan_.candidates);
    if (has_programs(plan_)) {
      programs_ = program_settings(plan_.exec, invocation.connection, invocation.configuration,
                                   invocation.interrupt);
      programs_.has_virtual_clock = !plan_.is_real;
    }
    if (plan_.compare) comparison_.emplace();
  }

  void run() {
    run_all();
    if (comparison_) compare();
    if (plan_.suggest && !report_.interrupted) suggest();
  }

 private:
  bool asks_server() const {
    return !plan_.model && std::ranges::any_of(plan_.candidates, [](const auto& each) {
      return each.program == nullptr;
    });
  }

  void run_all() {
    for (std::size_t i = 0; i < plan_.candidates.size() && !report_.interrupted; ++i) {
      report_.runs.push_back(plan_.is_real ? run_real(i) : run_or_blame(i));
      const auto& run = report_.runs.back();
      report_.interrupted = run.outcome.interrupted;
      if (const auto why = why_late(run)) {
        const auto* advice = plan_.replay                  ? "a log with fewer requests a second"
                             : plan_.pattern->rate.empty() ? "a lower --limit"
                                                           : "a lower --rate";
        const auto* other =
            plan_.candidates[i].program ? "a longer pipeline of the program" : "an idle machine";
        warn_once(fmt::format("{}; use {}, or {}", *why, advice, other));
      }
      if (const auto why = why_overloaded(run)) warn_once(*why);
      if (run.hint) warn_once(fmt::format("{}: {}", run.name, *run.hint));
    }
  }

  /// Not if the runs are repeated.
  void warn_once(const std::string& text) {
    if (!is_again_) warn("warning: " + text, invocation_.command);
  }

  /// The progress of run `number`: its share of the work, and what all runs do.
  void show(std::size_t number, double share, std::string_view what) {
    const auto runs = static_cast<double>(plan_.candidates.size());
    progress_.update((static_cast<double>(number) + std::min(share, 1.0)) / runs, what);
  }

  void show(const SearchInProgress& search) {
    constexpr std::size_t kMostColumns = 80;
    if (!progress_.enabled()) return;
    const auto columns = terminal_width(STDERR_FILENO);
    progress_.update(search_progress_text(search, std::min(columns - 1, kMostColumns)));
  }

  traffic::OnDecision on_decision_of(const traffic::Candidate& candidate, const std::string& name,
                                     const traffic::Traffic& traffic) {
    all_allowed_.reset();
    if (has_assertions_ && !has_holders(plan_))
      all_allowed_.emplace(candidate.limits).ignore_reports();
    allowed_.reset();
    if (draws_ && draws_one_key(report_) && !has_holders(plan_)) allowed_.emplace();
    if (comparison_ && !report_.runs.empty()) comparison_->start_second();
    events_.reset();
    if (writes(plan_, ReportFormat::kHtml)) events_.emplace();
    if (!on_decision_ && !all_allowed_ && !allowed_ && !comparison_ && !events_) return {};
    return [this, &name, &traffic, number = std::int64_t{0}](
               const traffic::Arrival& arrival, const limiter::Decision& decision) mutable {
      if (all_allowed_) all_allowed_->add(arrival, {.allowed = true});
      if (allowed_ && decision.allowed) {
        allowed_->push_back(
            {.at = arrival.at + decision.delay, .key = arrival.key, .cost = arrival.cost});
      }
      if (comparison_) comparison_->add(traffic, arrival, decision.allowed);
      if (events_) events_->add(arrival, decision);
      if (!on_decision_) return;
      on_decision_(name, ++number, traffic.key_name(arrival.key), arrival, decision);
    };
  }

  void warn_of_change(const traffic::Script& script) {
    const auto change = script.change();
    if (!change.empty()) warn_once(fmt::format("{}: {}", escape(script.name()), change));
  }

  /// The result of a run, whose times are from `begin`.
  Run finished(const traffic::Candidate& candidate, traffic::Outcome outcome,
               const traffic::Traffic& traffic, microseconds begin) {
    Run run{.name = std::string(name_of(candidate)),
            .is_bundled = candidate.is_bundled(),
            .outcome = std::move(outcome),
            .begin = begin};
    if (events_) {
      const auto worst = run.outcome.measured.worst.limit;
      run.events = events_->finish(traffic, run.outcome, candidate.limits[worst].window);
    }
    if (allowed_) draw_key(*allowed_, run.outcome);
    const auto& measured = run.outcome.measured;
    if (measured.allowed > 0) run.worst_key = traffic.key_name(measured.worst.key);
    for (const auto& [key, denied] : run.outcome.top_denied) {
      run.top_denied.emplace_back(traffic.key_name(key), denied);
    }
    for (const auto& one : measured.worst_keys) {
      run.worst_keys.emplace_back(traffic.key_name(one.worst.key));
    }
    if (all_allowed_) {
      const auto worst = all_allowed_->result().worst;
      run.offered = {.worst = worst, .window = candidate.limits[worst.limit].window};
    }
    const auto highest_cost = recording_ != nullptr ? recording_->max_cost() : plan_.request.cost;
    run.hint = reply_hint(run, candidate, highest_cost == 1);
    run.why = why_of(candidate, measured, highest_cost, false);
    return run;
  }

  RunTraffic virtual_traffic() const {
    if (recording_) return {.traffic = recording_->traffic(), .begin = recording_->first()};
    const auto start = plan_.request.start;
    return {.traffic = traffic::make_traffic(*plan_.pattern, plan_.request),
            .zero = period_of(plan_.request.limit, start).start};
  }

  /// Traffic that begins as soon as the connections and the script are ready.
  RunTraffic traffic_soon(microseconds round_trip) const {
    constexpr microseconds kReady{50'000}, kForEachClient{200};
    constexpr int kRoundTrips = 6;  // twice as many as a run needs before its first request
    const auto start =
        system_time() + kReady + kForEachClient * plan_.clients + kRoundTrips * round_trip;
    if (recording_) {
      return {.traffic = std::make_unique<traffic::ShiftedTraffic>(recording_->traffic(),
                                                                   recording_->first(), start),
              .begin = start,
              .zero = start};
    }
    const auto request = traffic::starting_at(*plan_.pattern, plan_.request, start);
    RunTraffic run{.traffic = traffic::make_traffic(*plan_.pattern, request),
                   .begin = request.start};
    if (plan_.pattern->first_in_window != nullptr) {
      run.begin = traffic::window_from(request.start, request.limit);
    }
    run.zero = run.begin;
    return run;
  }

  /// A run under the virtual clock. If a script never ends, runs it again in the same way, to name
  /// the request to blame.
  Run run_or_blame(std::size_t number) {
    const auto run = [&](bool one_at_a_time) {
      if (!plan_.search) return run_virtual(number, one_at_a_time);
      return has_holders(plan_) ? search_holders(number, one_at_a_time)
                                : search(number, one_at_a_time);
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
    const auto [traffic, begin, zero] = virtual_traffic();
    std::unique_ptr<traffic::Script> script;
    std::optional<Cleaning> cleaning;
    std::unique_ptr<traffic::Decider> decider;
    if (candidate.program) {
      decider = std::make_unique<exec::ProgramDecider>(candidate, *traffic, programs_);
    } else if (plan_.model && plan_.concurrency) {
      decider = std::make_unique<traffic::LeaseModelDecider>(candidate.limits.front());
    } else if (plan_.model && plan_.reserve) {
      decider = std::make_unique<traffic::BudgetModelDecider>(candidate.limits);
    } else if (plan_.model) {
      decider = std::make_unique<traffic::ModelDecider>(candidate);
    } else {
      script = make_script(candidate, *traffic, server_->next_prefix(),
                           {.keys_only = !server_->is_private()});
      cleaning.emplace(*server_, *script);
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
    const auto on_progress = [&, size = traffic->size()](std::int64_t done) {
      const auto runs = static_cast<std::int64_t>(plan_.candidates.size());
      show(number, static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(size, 1)),
           fmt::format("{} requests", runs * size));
    };
    const auto end = [&](const traffic::Outcome& outcome) {
      if (!outcome.interrupted) decider->finish();
      progress_.clear();  // cleaning up may write a warning
    };
    const auto& interrupt = invocation_.interrupt;
    if (plan_.concurrency) {
      auto holding = traffic::run_holding(*traffic, *decider, candidate.limits.front(),
                                          hold_plan_of(candidate, plan_), interrupt, on_decision,
                                          on_progress, zero);
      end(holding.outcome);
      return finished_leases(candidate, std::move(holding), *traffic, begin);
    }
    if (plan_.reserve) {
      auto spending =
          traffic::run_spending(*traffic, *decider, spend_rules_of(candidate), plan_.budget.spend,
                                interrupt, on_decision, on_progress, zero);
      end(spending.outcome);
      return finished_budget(candidate, std::move(spending), *traffic, begin);
    }
    auto outcome = traffic::run_virtually(
        *traffic, *decider, candidate.limits, interrupt, on_decision, on_progress,
        has_assertions_ || invocation_.json || !candidate.is_bundled(), zero);
    end(outcome);
    return finished(candidate, std::move(outcome), *traffic, begin);
  }

  /// What is known of holders: neither windows nor what a limiter reports.
  static Run run_of_holders(const traffic::Candidate& candidate, traffic::Outcome outcome,
                            const traffic::Traffic& traffic, microseconds begin) {
    Run run{.name = std::string(name_of(candidate)),
            .is_bundled = candidate.is_bundled(),
            .outcome = std::move(outcome),
            .begin = begin};
    for (const auto& [key, denied] : run.outcome.top_denied) {
      run.top_denied.emplace_back(traffic.key_name(key), denied);
    }
    run.hint = lease_hint(run);
    return run;
  }

  static Run finished_leases(const traffic::Candidate& candidate, traffic::HoldingOutcome holding,
                             const traffic::Traffic& traffic, microseconds begin) {
    auto run = run_of_holders(candidate, std::move(holding.outcome), traffic, begin);
    auto& held = run.held.emplace(std::move(holding.held));
    if (candidate.foreign) held.releases_refused.reset();  // its replies to them are not read
    if (held.most.held > 0) run.held_key = traffic.key_name(held.most.key);
    if (held.most_ever.held > 0) run.held_ever_key = traffic.key_name(held.most_ever.key);
    return run;
  }

  static Run finished_budget(const traffic::Candidate& candidate, traffic::SpendingOutcome spending,
                             const traffic::Traffic& traffic, microseconds begin) {
    auto run = run_of_holders(candidate, std::move(spending.outcome), traffic, begin);
    auto& spent = run.spent.emplace(std::move(spending.spent));
    if (candidate.foreign) {  // its replies to settles are not read
      spent.refused.reset();
      spent.refused_while_held.reset();
    }
    if (spent.most.both() > 0) run.spent_key = traffic.key_name(spent.most.key);
    return run;
  }

  /// Prepares all keys of the traffic before a run under the real clock, in which a request may
  /// overtake what prepares its key.
  void prepare(traffic::Script& script, redis::Connection& connection) const {
    const auto keys = recording_ != nullptr ? recording_->keys() : plan_.request.keys;
    script.load(connection);
    for (std::uint32_t key = 0; key < keys; ++key) {
      invocation_.interrupt.check();
      traffic::prepare(script, connection, {.at = system_time(), .key = key});
    }
  }

  /// What all runs of the traffic under the real clock have in common.
  traffic::RealRun real_run_of(std::size_t number, const std::string& name, const RunTraffic& run) {
    const auto& candidate = plan_.candidates[number];
    const RunInProgress shown{.name = name,
                              .number = number,
                              .of = plan_.candidates.size(),
                              .seconds = planned_seconds(plan_, recording_),
                              .requests = std::max<std::int64_t>(run.traffic->size(), 1)};
    const auto on_progress = [this, shown](const traffic::RealProgress& progress) {
      if (!progress_.enabled()) return;
      // Leave the last column free; see Progress.
      progress_.update(real_progress_text(shown, progress, terminal_width(STDERR_FILENO) - 1));
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
    exec::Program program(candidate, *names, programs_);
    program.start_and_wait();
    const auto traffic = traffic_soon(microseconds{0});
    const auto run = real_run_of(number, name, traffic);
    auto outcome = exec::run_in_real_time(program, *traffic.traffic, run);
    if (!outcome.interrupted) program.finish();
    progress_.clear();
    return finished(candidate, std::move(outcome), *traffic.traffic, traffic.begin);
  }

  Run run_real(std::size_t number) {
    const auto& candidate = plan_.candidates[number];
    if (candidate.program) return run_program_in_real_time(number);
    const std::string name(name_of(candidate));
    const auto connections = server_->connections(static_cast<std::size_t>(plan_.clients));
    const traffic::Surroundings surroundings{.virtual_clock = false,
                                             .keys_only = !server_->is_private()};
    const auto prefix = server_->next_prefix();
    const auto names = virtual_traffic().traffic;
    const auto setup = make_script(candidate, *names, prefix, surroundings);
    const Cleaning cleaning_of_setup(*server_, *setup);
    if (candidate.foreign && !candidate.foreign->setup.empty()) {
      prepare(*setup, connections.front());
    }
    const auto traffic = traffic_soon(round_trip_of(connections.front()));
    const auto script = make_script(candidate, *traffic.traffic, prefix, surroundings);
    const Cleaning cleaning(*server_, *script);
    auto run = real_run_of(number, name, traffic);
    run.script = script.get();
    run.connections = connections;
    run.timeout = server_->timeout();
    auto outcome = traffic::run_in_real_time(*traffic.traffic, run);
    progress_.clear();  // cleaning up may write a warning
    warn_of_change(*script);
    return finished(candidate, std::move(outcome), *traffic.traffic, traffic.begin);
  }

  /// Shows the progress of the search against a limiter.
  class SearchProgress {
   public:
    /// The session must outlive this and its callbacks.
    SearchProgress(Session& session, std::size_t number) : session_(session), number_(number) {}

    adversary::OnSearchProgress on_requests(std::string_view what,
                                            std::string_view worst_is) const {
      return [*this, what, worst_is](std::int64_t sent, std::int64_t of, std::int64_t worst) {
        const auto text = sent < of ? fmt::format("{} of {} {}", grouped(sent), grouped(of), what)
                                    : fmt::format("{} {}", grouped(sent), what);
        show(text, sent, static_cast<double>(sent) / static_cast<double>(of), worst, worst_is);
      };
    }
    adversary::OnExhaustiveProgress on_schedules(std::string_view worst_is) const {
      return [*this, worst_is](std::int64_t tried, double share, std::int64_t worst) {
        show(grouped(tried) + " schedules", tried, share, worst, worst_is);
      };
    }

   private:
    void show(std::string tried, std::int64_t count, double share, std::int64_t worst,
              std::string_view worst_is) const {
      const std::chrono::duration<double> passed = Clock::now() - begin_;
      session_.show(SearchInProgress{.name = name_of(session_.plan_.candidates[number_]),
                                     .number = number_,
                                     .of = session_.plan_.candidates.size(),
                                     .tried = std::move(tried),
                                     .count = count,
                                     .share = share,
                                     .worst = worst,
                                     .worst_is = worst_is,
                                     .seconds = passed.count()});
    }

    Session& session_;
    std::size_t number_;
    Clock::time_point begin_ = Clock::now();
  };

  Run search(std::size_t number, bool one_at_a_time) {
    const auto& candidate = plan_.candidates[number];
    Run run{.name = std::string(name_of(candidate)), .is_bundled = candidate.is_bundled()};
    auto& findings = run.search.emplace();
    findings.limit = plan_.limits.front();
    findings.clock = clock_of(candidate, findings.limit.window);
    LimiterTrial limiter(candidate, plan_.model ? nullptr : server_.get(), programs_);
    if (limiter.script() != nullptr) warn_of_change(*limiter.script());
    auto* script = limiter.script_trial();
    if (script != nullptr && one_at_a_time) script->decider().send_one_at_a_time();
    findings.result = search(number, limiter, findings.tick());
    if (!findings.result.interrupted) {
      if (!candidate.is_bundled()) probe(candidate, limiter.trial(), findings);
      limiter.finish();
    }
    const auto& most = findings.result.most;
    std::int64_t highest_cost = 1;
    for (const auto& request : most.schedule) {
      highest_cost = std::max(highest_cost, request.cost);
      findings.has_refunds |= request.cost < 0;
    }
    run.outcome = outcome_of(most, plan_);
    auto& measured = run.outcome.measured;
    if (!findings.has_refunds) run.why = why_of(candidate, measured, highest_cost, true);
    if (findings.result.is_unbounded) run.why = kUnbounded;
    measured.worst.allowed = most.score.worst;
    measured.worst.from = most.score.worst_from;
    measured.worst.span = most.score.worst_span;
    measured.worst.ratio = findings.ratio_of(most);
    measured.denied_after = findings.result.denied_after;
    run.outcome.interrupted = findings.result.interrupted;
    if (script != nullptr) run.outcome.replies = script->decider().replies();
    run.hint = reply_hint(run, candidate, plan_.costs == std::vector<std::int64_t>{1});
    const auto& wrong = findings.result.wrongly_denied;
    if (wrong && candidate.program && !run.hint && !run.outcome.interrupted) {
      auto denied = wrong->schedule;
      denied.resize(wrong->score.wrongly_denied.front() + 1);
      auto hint = own_clock_hint(candidate, programs_, denied);
      if (hint != "") run.hint = std::move(hint);
    }
    progress_.clear();  // cleaning up may write a warning
    return run;
  }

  /// Asks for what is known of the bundled algorithms; their time is the server's.
  void probe(const traffic::Candidate& candidate, adversary::Trial& trial,
             SearchFindings& findings) const try {
    const adversary::Ask ask = [&](const adversary::Schedule& schedule) {
      findings.result.requests_sent += static_cast<std::int64_t>(schedule.size());
      return trial.run({&schedule, 1}).front();
    };
    const auto start = search_base(plan_);
    const bool is_above = findings.result.most.score.worst > findings.limit.limit;
    if (is_above && plan_.costs == std::vector<std::int64_t>{1}) {
      findings.bucket_allows = adversary::find_bucket(findings.limit, start, ask);
    }
    const bool is_told = candidate.program || coarsest_time(*candidate.foreign) != nullptr;
    if (!is_told || !plan_.search->steps_back()) return;
    findings.clock_ahead = adversary::find_clock_ahead(findings.limit, start, ask);
  } catch (const Interrupted&) {
    findings.result.interrupted = true;
  }

  Run search_holders(std::size_t number, bool one_at_a_time) {
    const auto& candidate = plan_.candidates[number];
    const bool reserves = plan_.reserve.has_value();
    Run run{.name = std::string(name_of(candidate)), .is_bundled = candidate.is_bundled()};
    LimiterTrial limiter(candidate, plan_.model ? nullptr : server_.get(), programs_, reserves);
    if (limiter.script() != nullptr) warn_of_change(*limiter.script());
    auto* script = limiter.script_trial();
    if (script != nullptr && one_at_a_time) script->decider().send_one_at_a_time();
    const auto request = holder_request_of(candidate, plan_);
    const SearchProgress progress(*this, number);
    auto& result = run.holder_search.emplace().result;
    run.holder_search->tick = request.tick;
    const std::string_view most = reserves ? "units" : "held";
    if (const auto& events = plan_.search->exhaustive) {
      if (script != nullptr) script->note_contents();
      const auto search_all =
          reserves ? adversary::search_all_budgets : adversary::search_all_leases;
      result = search_all(limiter.trial(), request, *events, invocation_.interrupt,
                          progress.on_schedules(most));
    } else {
      const auto search = reserves ? adversary::search_budgets : adversary::search_leases;
      result = search(limiter.trial(), request, invocation_.interrupt,
                      progress.on_requests("events", most));
    }
    if (!result.interrupted) limiter.finish();
    run.outcome.interrupted = result.interrupted;
    if (script != nullptr) run.outcome.replies = script->decider().replies();
    if (result.held == 0 && !result.interrupted) run.hint = lease_hint(run);
    progress_.clear();  // cleaning up may write a warning
    return run;
  }

  adversary::SearchResult search(std::size_t number, LimiterTrial& limiter, microseconds tick) {
    const auto& plan = *plan_.search;
    const auto& candidate = plan_.candidates[number];
    const auto& interrupt = invocation_.interrupt;
    const auto* unit = candidate.foreign ? coarsest_time(*candidate.foreign) : nullptr;
    const adversary::SearchRequest request{
        .limit = plan_.limits.front(),
        .costs = plan_.costs,
        .tries = plan.tries,
        .seed = plan_.request.seed,
        .base = search_base(plan_),
        .tick = tick,
        .clock_unit = unit != nullptr ? unit->tick : microseconds{0},
        .steps_back = plan.steps_back()};
    const SearchProgress progress(*this, number);
    const auto on_requests = progress.on_requests("requests", "worst");
    const auto on_schedules = progress.on_schedules("worst");
    if (!plan.exhaustive) {
      return adversary::search(limiter.trial(), request, interrupt, on_requests);
    }
    if (auto* script = limiter.script_trial()) {
      return adversary::search_all(*script, request, *plan.exhaustive, interrupt, on_schedules);
    }
    if (candidate.program) {
      adversary::ReplayBranching replay(limiter.trial());
      return adversary::search_all(replay, limiter.trial(), request, *plan.exhaustive, interrupt,
                                   on_schedules);
    }
    adversary::ModelBranching branching(candidate);
    return adversary::search_all(branching, limiter.trial(), request, *plan.exhaustive, interrupt,
                                 on_schedules);
  }

  /// Ctrl-C stops the suggestions; the report keeps the runs.
  void suggest() {
    const traffic::MakeDecider make_program = [this](const traffic::Candidate& candidate,
                                                     const traffic::Traffic& names) {
      return std::make_unique<exec::ProgramDecider>(candidate, names, programs_);
    };
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      auto& run = report_.runs[i];
      const auto& candidate = plan_.candidates[i];
      run.burst = candidate.limits.front().burst;
      run.suggestion = traffic::suggest_limit(
          [this] { return virtual_traffic().traffic; }, candidate, *plan_.suggest,
          invocation_.interrupt,
          [&](double share, std::int64_t limit) {
            show(i, share,
                 fmt::format("the suggestions; {}: trying {}", escaped_message(run.name), limit));
          },
          candidate.program ? make_program : traffic::MakeDecider());
    }
    progress_.clear();
  }

  /// If a difference may be due to real time, compares again: the next runs may be exact. Not if
  /// the decisions are written as they come.
  void compare() {
    constexpr int kTries = 3;
    report_.difference = comparison_->found();
    for (int i = 1; i < kTries && !on_decision_ && difference_may_be_timing_noise(); ++i) {
      is_again_ = true;
      report_.runs.clear();
      comparison_.emplace();
      run_all();
      report_.difference = comparison_->found();
    }
    if (report_.difference)
      report_.difference->at_end_of_ttl = is_at_end_of_ttl(*report_.difference);
    if (!difference_may_be_timing_noise()) return;
    warn(
        "warning: the server was held up while TTLs ran, so that real time may have made the "
        "difference; use an idle machine",
        invocation_.command);
  }

  /// Whether the Redis server of a program has a key in its last millisecond at a difference: asks
  /// the program again for all requests before that.
  bool is_at_end_of_ttl(const Difference& difference) {
    return std::ranges::any_of(plan_.candidates, [&](const traffic::Candidate& candidate) {
      if (!candidate.program) return false;
      const auto traffic = virtual_traffic().traffic;
      exec::ProgramDecider program(candidate, *traffic, programs_);
      traffic::FirstArrivals before(*traffic, difference.request - 1);
      const auto outcome =
          traffic::run_virtually(before, program, candidate.limits, invocation_.interrupt);
      if (outcome.interrupted) return false;
      const bool has_key = program.has_key_in_last_ms(difference.at);
      program.finish();
      return has_key;
    });
  }

  bool difference_may_be_timing_noise() const {
    if (!report_.difference || report_.interrupted) return false;
    return std::any_of(report_.runs.begin(), report_.runs.end(),
                       [](const Run& run) { return run.outcome.was_stalled; });
  }

  Report& report_;
  const Plan& plan_;
  const replay::Recording* recording_;  ///< null if a pattern makes the traffic
  Invocation& invocation_;
  Progress progress_;
  const OnNamedDecision& on_decision_;
  bool has_assertions_, draws_;
  bool is_again_ = false;  ///< the runs are repeated: their warnings have been written
  /// The departures that the current run allowed to all keys, to draw those of one key.
  std::optional<std::vector<traffic::Arrival>> allowed_;
  /// How a limiter that allows everything would have treated the requests of the current run.
  std::optional<traffic::Measurement> all_allowed_;
  std::optional<EventRecorder> events_;           ///< the requests of the current run, for a page
  std::optional<DecisionComparison> comparison_;  ///< of the decisions of the two runs
  std::unique_ptr<Server> server_;                ///< null if no limiter needs one
  exec::Settings programs_;
};

}  // namespace

std::string search_progress_text(const SearchInProgress& search, std::size_t columns) {
  return fitting(parts_of(search), columns);
}

std::string real_progress_text(const RunInProgress& run, const traffic::RealProgress& progress,
                               std::size_t columns) {
  return fitting(parts_of(run, progress), columns);
}

std::shared_ptr<const replay::Recording> read_recording(const Plan& plan,
                                                        const Invocation& invocation) {
  if (!plan.replay) return nullptr;
  Progress progress(shows_progress(plan));
  const auto recording = std::make_shared<const replay::Recording>(
      *plan.replay, invocation.interrupt, [&](std::int64_t bytes, std::int64_t total) {
        const auto done = static_cast<double>(bytes) / 1e6, all = static_cast<double>(total) / 1e6;
        if (total == 0) return progress.update(fmt::format("{:.0f} MB read; Ctrl-C stops", done));
        progress.update(std::min(1.0, done / all), fmt::format("{:.0f} MB read", all));
      });
  progress.clear();
  warn_of_lines(*recording, invocation.command);
  if (!has_holders(plan)) require_costs(plan.candidates, *recording);
  return recording;
}

void run_plan(Report& report, Invocation& invocation, const OnNamedDecision& on_decision) {
  Session(report, invocation, on_decision).run();
}

}  // namespace rlctl::cli::burst
