#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/lint/plan.h"
#include "cli/commands/lint/probes.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "exec/program.h"
#include "lint/answers.h"

namespace rlctl::cli::lint {
namespace {

using adversary::Schedule;
using limiter::Decision;
using rlctl::lint::WrongFigure;
using std::chrono::microseconds;
using Decisions = std::vector<Decision>;

/// Times in answers may be rounded up to milliseconds.
constexpr microseconds kRounding{1000};
constexpr microseconds kWholeSecond{1'000'000};

/// Asks a program, and shows how many requests it has answered.
class WatchedProgram final : public traffic::ForgetfulDecider {
 public:
  /// The references must outlive this.
  WatchedProgram(const traffic::Candidate& candidate, const traffic::Traffic& names,
                 const exec::Settings& settings, Progress& progress, std::int64_t& requests)
      : candidate_(candidate),
        decider_(candidate_, names, settings),
        progress_(progress),
        requests_(requests) {}
  std::size_t decide(std::span<const traffic::Arrival> arrivals,
                     std::span<Decision> decisions) override {
    progress_.update(
        fmt::format("{}: {} requests; Ctrl-C stops", traffic::name_of(candidate_), requests_));
    requests_ += std::ssize(arrivals);
    return decider_.decide(arrivals, decisions);
  }
  void forget() override { decider_.forget(); }
  void finish() override { decider_.finish(); }

 private:
  traffic::Candidate candidate_;
  exec::ProgramDecider decider_;
  Progress& progress_;
  std::int64_t& requests_;
};

std::int64_t allowed_in(std::span<const Decision> decisions) {
  return std::ranges::count(decisions, true, &Decision::allowed);
}

std::string text_of(const Schedule& schedule, const Decisions& decisions) {
  adversary::Answers answers;
  for (const auto& decision : decisions) answers.push_back({.allowed = decision.allowed});
  return schedule_text(schedule, answers);
}

Schedule joined(Schedule schedule, microseconds at, std::int64_t cost, std::size_t count = 1) {
  schedule.insert(schedule.end(), count, {.at = at, .cost = cost});
  return schedule;
}

/// Finds out what the answers of a program tell besides what probe() does.
class ProgramObserver {
 public:
  ProgramObserver(const Subject& subject, const exec::Settings& settings)
      : subject_(subject),
        settings_(settings),
        limit_(subject.candidate.limits.front()),
        window_(limit_.window),
        start_(start_of_traffic(window_)),
        tick_(shortest_gap(window_)) {
    seen_.window = window_;
  }

  Observed observe() {
    const auto make_trial = [&](const traffic::Candidate& candidate) {
      auto limiter = std::make_unique<LimiterTrial>();
      limiter->program = std::make_unique<WatchedProgram>(candidate, limiter->keys, settings_,
                                                          progress_, requests_);
      limiter->trial = std::make_unique<adversary::ForgetfulTrial>(*limiter->program);
      return limiter;
    };
    limiter_ = make_trial(subject_.candidate);
    if (can_be_judged()) {
      auto probed =
          probe(subject_, make_trial, {.start = start_, .tick = tick_, .costs = subject_.costs});
      seen_.lock_out = probed.lock_out;
      seen_.renewal = probed.renewal;
      seen_.free_pass = probed.free_pass;
      fills_ = std::move(probed.fills);
      observed_.tested = std::move(probed.tested);
      find_endless_denials();
      for (auto& [what, why] : probed.not_tested) {
        if (!seen_.denied_for_ever) skip(std::move(what), std::move(why));
      }
      if (!fills_.empty()) run_own_probes();
    }
    limiter_->program->finish();
    progress_.clear();
    observed_.requests = requests_;
    observed_.findings = find_flaws(seen_);
    return std::move(observed_);
  }

 private:
  Decisions decisions_of(const Schedule& schedule) {
    limiter_->program->forget();
    std::vector<traffic::Arrival> arrivals;
    for (const auto& request : schedule) {
      arrivals.push_back({.at = request.at, .cost = request.cost});
    }
    Decisions decisions(arrivals.size());
    if (limiter_->program->decide(arrivals, decisions) < arrivals.size()) throw Interrupted();
    return decisions;
  }

  /// Whether a request is allowed that comes so long after the schedule.
  bool is_allowed(const Schedule& schedule, microseconds after, std::int64_t cost) {
    return decisions_of(joined(schedule, schedule.back().at + after, cost)).back().allowed;
  }

  void skip(std::string what, std::string why) {
    observed_.warnings.push_back(fmt::format("not tested: {}: {}", what, why));
    observed_.not_tested.push_back({std::move(what), std::move(why)});
  }

  /// The longest that a client may have to wait for anything.
  microseconds patience() const {
    constexpr int kMoreWindows = 4;
    const auto bursts = limit_.burst_or_limit() / limit_.limit + 1;
    return window_ * (kMoreWindows + bursts);
  }

  /// Whether the program denies what exceeds the limit, and nothing else; if not, says so.
  bool can_be_judged() {
    const auto most = std::max(limit_.limit, limit_.burst_or_limit());
    const auto count = static_cast<std::size_t>(2 * (most + 1));
    std::optional<Decisions> first;
    for (const auto step : {microseconds{0}, tick_}) {
      Schedule schedule;
      for (std::size_t i = 0; i < count; ++i) {
        schedule.push_back({.at = start_ + static_cast<std::int64_t>(i) * step});
      }
      const auto decisions = decisions_of(schedule);
      if (!first) at_once_ = allowed_in(decisions);
      const auto allowed = allowed_in(decisions);
      if (allowed == 0) return doubt("nothing was allowed");
      if (!decisions.front().allowed) {
        return doubt("the first request was denied, and a later one was allowed");
      }
      if (allowed == std::ssize(decisions)) {
        first = decisions;
        continue;
      }
      const auto least = std::min(limit_.limit, limit_.burst_or_limit());
      if (allowed >= least) return true;
      return doubt(fmt::format(
          "denied after {}, not {}: the program must use the limit and the burst of the request",
          counted(allowed, "request"), least));
    }
    const auto delays = [](const auto& decision) { return decision.delay.count() > 0; };
    return doubt(std::ranges::any_of(*first, delays)
                     ? "nothing was denied: requests are only delayed"
                     : "nothing was denied: the program must use the limit of the request");
  }

  bool doubt(std::string why) {
    observed_.warnings.push_back(why);
    observed_.not_tested.push_back({"retries, idle gaps, costs and figures", std::move(why)});
    return false;
  }

  /// Whether a client is denied so late that nothing may count.
  void find_endless_denials() {
    for (const auto& [cost, fill] : fills_) {
      if (fill.wait || seen_.denied_for_ever) continue;
      constexpr int kLateWindows = 100;
      const auto late = std::min(window_ * kLateWindows + std::chrono::hours{2},
                                 kLatestInstant - fill.schedule.back().at);
      const auto schedule = joined(fill.schedule, fill.schedule.back().at + late, cost);
      const auto decisions = decisions_of(schedule);
      if (!decisions.back().allowed) seen_.denied_for_ever = text_of(schedule, decisions);
    }
  }

  void run_own_probes() {
    check_costs();
    const auto& [cost, fill] = *fills_.begin();
    if (fill.wait) {
      find_forgotten(fill, cost);
      find_whole_seconds(fill, cost);
    }
    for (const auto& [each_cost, each] : fills_) {
      if (each.wait) check_waits(each, each_cost);
    }
    check_remaining();
    if (fill.wait) check_resets(fill, cost);
    std::string told;
    for (const auto& figure : told_) told += (told.empty() ? "" : ", ") + figure;
    if (!told.empty()) {
      observed_.tested.push_back("what the answers say of later ones: " + told);
    }
  }

  // ---- Costs ----

  void check_costs() {
    for (const auto& [cost, fill] : fills_) {
      const auto allowed = std::ssize(fill.schedule) - 1;
      if (seen_.cost || cost == 1 || cost * allowed <= at_once_) continue;
      if (fill.schedule.front().at != fill.schedule.back().at) continue;
      seen_.cost = {.cost = cost,
                    .allowed = allowed,
                    .allowed_of_one = at_once_,
                    .schedule = text_of(fill.schedule, decisions_of(fill.schedule))};
    }
    std::string costs;
    for (const auto& [cost, fill] : fills_) {
      costs += (costs.empty() ? "" : ", ") + std::to_string(cost);
    }
    observed_.tested.push_back("requests at one instant of cost " + costs);
  }

  // ---- What is forgotten ----

  /// Compares a client that was idle with one that kept asking, and was denied, for as long: if the
  /// first got more than refills, it was forgotten.
  void find_forgotten(const Fill& fill, std::int64_t cost) {
    if (seen_.lock_out || seen_.free_pass) return;  // which may be why
    constexpr int kGaps = 32;
    const auto size = fill.schedule.size();
    const auto full = fill.schedule.back().at;
    const auto step = window_ / kGaps;
    std::vector<microseconds> gaps;
    for (int i = 1; i <= kGaps; ++i) {
      gaps.push_back(step * i / limit_.limit);
      gaps.push_back(step * i - tick_);
    }
    std::ranges::sort(gaps);
    for (const auto gap : gaps) {
      if (gap <= microseconds{0} || gap >= window_) continue;
      const auto idle = joined(fill.schedule, full + gap, cost, size);
      const auto decisions = decisions_of(idle);
      const auto allowed = allowed_in(std::span(decisions).subspan(size));
      const auto refilled = gap.count() * limit_.limit / (window_.count() * cost);
      if (allowed <= refilled) continue;
      auto asking = fill.schedule;
      const auto pause = std::min(step, gap / 2);
      for (auto at = pause; at < gap && pause.count() > 0; at += pause) {
        asking.push_back({.at = full + at, .cost = cost});
      }
      asking = joined(std::move(asking), full + gap, cost, size);
      const auto others = decisions_of(asking);
      const auto if_asking = allowed_in(std::span(others).subspan(size));
      if (allowed <= if_asking || decisions_of(idle) != decisions) continue;
      seen_.forgotten = {.gap = gap,
                         .allowed = allowed,
                         .if_asking = if_asking,
                         .schedule = text_of(idle, decisions)};
      break;
    }
    observed_.tested.push_back(
        fmt::format("idle gaps of up to {} after the limit was reached, each beside a client that "
                    "kept asking",
                    period_text(window_)));
  }

  // ---- Whole seconds ----

  /// The first time after `before` for which this is true; it is for `until`.
  template <typename Test>
  microseconds first_time(microseconds before, microseconds until, Test is_true) {
    while (until - before > microseconds{1}) {
      const auto middle = before + (until - before) / 2;
      (is_true(middle) ? until : before) = middle;
    }
    return until;
  }

  /// After which a request is allowed that follows a denied one; std::nullopt if that takes longer
  /// than anything may.
  std::optional<microseconds> wait_after(const Schedule& schedule, std::int64_t cost,
                                         microseconds at_least) {
    auto before = at_least;
    for (auto after = std::max(at_least, tick_); after <= 2 * patience();
         before = after, after = 2 * after) {
      if (!is_allowed(schedule, after, cost)) continue;
      return first_time(before, after,
                        [&](const auto time) { return is_allowed(schedule, time, cost); });
    }
    return std::nullopt;
  }

  /// Reaches the limit at several fractions of a second: a clock of whole seconds lets clients in
  /// when a second begins.
  void find_whole_seconds(const Fill& fill, std::int64_t cost) {
    constexpr int kLongest = 100, kTimes = 3;
    // A window of a second begins when one does.
    const bool is_short = window_ < kWholeSecond;
    if (window_ > kLongest * kWholeSecond || (!is_short && window_ < 2 * kWholeSecond)) return;
    if (fill.schedule.front().at != fill.schedule.back().at) return;
    // Within one window of the clock, so that its end is one; or within a second.
    const auto gap = is_short ? microseconds{310'000} : microseconds{1'310'000};
    const auto first =
        is_short ? start_ / kWholeSecond * kWholeSecond + microseconds{123'457} : start_;
    const auto second_of = [](const auto time) { return time / kWholeSecond; };
    std::vector<microseconds> fulls, ends;
    std::string texts;
    bool is_whole = true;
    for (int i = 0; i < kTimes && is_whole; ++i) {
      const auto later = first + i * gap - start_;
      if (!is_short && later > window_ * 3 / 4) break;
      const auto schedule = adversary::shifted(fill.schedule, later);
      const auto wait = wait_after(schedule, cost, microseconds{0});
      if (!wait) return;
      fulls.push_back(schedule.back().at);
      ends.push_back(fulls.back() + *wait);
      is_whole = ends.back() % kWholeSecond == microseconds{0} &&
                 second_of(ends.back()) - second_of(ends.front()) ==
                     second_of(fulls.back()) - second_of(fulls.front());
      texts +=
          fmt::format("{}full {} after a second began, let in after {}", texts.empty() ? "" : "; ",
                      span_text(fulls.back() % kWholeSecond), span_text(*wait));
    }
    if (is_whole && fulls.size() > 1) seen_.whole_seconds = texts;
    observed_.tested.push_back("reaching the limit at several fractions of a second");
  }

  // ---- What the answers say ----

  /// Keeps the first wrong figure of a kind.
  void note(std::optional<WrongFigure>& figure, std::int64_t told, std::int64_t actual,
            const Schedule& schedule, const Decisions& decisions) {
    if (!figure)
      figure = {.told = told, .actual = actual, .schedule = text_of(schedule, decisions)};
  }

  /// The requests that reach the limit, and with one more halfway through the wait.
  static std::array<Schedule, 2> denials(const Fill& fill, std::int64_t cost) {
    return {fill.schedule, joined(fill.schedule, fill.schedule.back().at + *fill.wait / 2, cost)};
  }

  void check_waits(const Fill& fill, std::int64_t cost) {
    for (const auto& schedule : denials(fill, cost)) {
      const auto denial = decisions_of(schedule).back();
      if (denial.allowed || denial.retry_after == limiter::kTimeNotTold) continue;
      told_.insert("retry_after_us");
      check_wait(schedule, cost, denial.retry_after);
    }
  }

  void check_wait(const Schedule& schedule, std::int64_t cost, microseconds told) {
    const auto then = [&](microseconds after) {
      return joined(schedule, schedule.back().at + after, cost);
    };
    const bool is_never = told == limiter::kNever;
    if (!is_never && !is_allowed(schedule, told, cost)) {
      const auto wait = wait_after(schedule, cost, told);
      if (!wait) return;  // no answer to the question is right
      note(seen_.short_wait, told.count(), wait->count(), then(told), decisions_of(then(told)));
      return;
    }
    if (!is_never && (told <= kRounding || !is_allowed(schedule, told - kRounding, cost))) return;
    const auto wait =
        is_never ? wait_after(schedule, cost, microseconds{0})
                 : first_time(microseconds{0}, told - kRounding,
                              [&](const auto time) { return is_allowed(schedule, time, cost); });
    if (!wait) return;
    note(seen_.long_wait, told.count(), wait->count(), then(*wait), decisions_of(then(*wait)));
  }

  void check_remaining() {
    const auto all = static_cast<std::size_t>(at_once_) + 2;
    const auto full = joined({}, start_, 1, all);
    for (const auto& schedule : {full, joined(full, start_ + window_ / 2, 1, all),
                                 joined(full, start_ + window_ + tick_, 1, all)}) {
      const auto decisions = decisions_of(schedule);
      const auto first = schedule.size() - all;
      for (auto i = first; i < schedule.size(); ++i) {
        if (decisions[i].remaining == limiter::kNotTold) continue;
        told_.insert("remaining");
        const auto told = decisions[i].remaining;
        const auto actual = allowed_in(std::span(decisions).subspan(i + 1));
        if (told == actual) continue;
        auto& figure = told > actual ? seen_.much_remaining : seen_.little_remaining;
        const Schedule until(schedule.begin(),
                             schedule.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        note(figure, told, actual, until,
             {decisions.begin(), decisions.begin() + std::ssize(until)});
      }
    }
  }

  void check_resets(const Fill& fill, std::int64_t cost) {
    if (at_once_ == 0) return;
    std::vector<Schedule> schedules{{fill.schedule.front()}};
    const auto full = denials(fill, cost);
    schedules.insert(schedules.end(), full.begin(), full.end());
    for (const auto& schedule : schedules) {
      const auto told = decisions_of(schedule).back().reset_after;
      if (told == limiter::kTimeNotTold) continue;
      told_.insert("reset_after_us");
      const auto then = [&](microseconds after) {
        return joined(schedule, schedule.back().at + after, 1, static_cast<std::size_t>(at_once_));
      };
      const auto is_whole = [&](microseconds after) {
        const auto decisions = decisions_of(then(after));
        return allowed_in(std::span(decisions).subspan(schedule.size())) == at_once_;
      };
      if (!is_whole(told)) {
        if (!is_whole(told + 2 * patience())) continue;
        const auto reset = first_time(told, told + 2 * patience(), is_whole);
        note(seen_.early_reset, told.count(), reset.count(), then(told), decisions_of(then(told)));
        continue;
      }
      // What still counts a little may let the whole limit in.
      const auto slack = window_ / limit_.limit + kWholeSecond;
      if (schedule.size() == 1 || told <= slack || !is_whole(told - slack)) continue;
      const auto reset = first_time(microseconds{0}, told - slack, is_whole);
      note(seen_.late_reset, told.count(), reset.count(), then(reset), decisions_of(then(reset)));
    }
  }

  const Subject& subject_;
  const exec::Settings& settings_;
  const limiter::Limit& limit_;
  microseconds window_, start_, tick_;
  Progress progress_{is_terminal(STDERR_FILENO)};
  std::int64_t requests_ = 0;  ///< that were sent
  std::unique_ptr<LimiterTrial> limiter_;
  std::int64_t at_once_ = 0;  ///< the requests of cost 1 that are allowed at one instant
  std::map<std::int64_t, Fill> fills_;
  std::set<std::string> told_;  ///< the figures that the answers have
  rlctl::lint::AnswerObservation seen_;
  Observed observed_;
};

}  // namespace

Observed observe_program(const Subject& subject, const exec::Settings& settings) {
  auto observed = ProgramObserver(subject, settings).observe();
  note_scaling(subject, observed);
  return observed;
}

}  // namespace rlctl::cli::lint
