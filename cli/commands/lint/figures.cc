#include "cli/commands/lint/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace rlctl::cli::lint {
namespace {

using adversary::Answers;
using adversary::Schedule;
using std::chrono::microseconds;

/// Times in answers may be rounded up to milliseconds.
constexpr microseconds kRounding{1000};
/// By this much, an answer may come early or late that depends on when a key expires.
constexpr microseconds kTtlSlack = 3 * kTtlStep;

constexpr std::string_view kWait = "retry_after_us", kRemaining = "remaining",
                           kReset = "reset_after_us";

/// The first time after `before` for which this is true; it is for `until`.
template <typename Test>
microseconds first_time(microseconds before, microseconds until, Test is_true) {
  while (until - before > microseconds{1}) {
    const auto middle = before + (until - before) / 2;
    (is_true(middle) ? until : before) = middle;
  }
  return until;
}

/// The requests that reach the limit, and with one more in the middle of the wait. Of a wait of
/// whole seconds, a part of a second and of a millisecond is left then, which rounding shows.
std::array<Schedule, 2> denials(const Fill& fill, std::int64_t cost) {
  constexpr microseconds kPart{750'250};
  auto middle = *fill.wait / 2;
  if (middle >= kSecond) middle = middle / kSecond * kSecond + kPart;
  return {fill.schedule, joined(fill.schedule, fill.schedule.back().at + middle, cost)};
}

}  // namespace

Figures::Figures(const limiter::Limit& limit, const Ask& ask, const Ask& certain)
    : limit_(limit),
      ask_(ask),
      certain_(certain),
      window_(limit.window),
      start_(start_of_traffic(window_)),
      tick_(shortest_gap(window_)) {}

/// The longest that a client may have to wait for anything.
microseconds Figures::patience() const {
  constexpr int kMoreWindows = 4;
  const auto bursts = limit_.burst_or_limit() / limit_.limit + 1;
  return window_ * (kMoreWindows + bursts);
}

std::optional<bool> Figures::is_allowed(const Ask& ask, const Schedule& schedule,
                                        microseconds after, std::int64_t cost) const {
  const auto answers = ask(joined(schedule, schedule.back().at + after, cost));
  return answers.empty() ? std::nullopt : std::optional(answers.back().allowed);
}

std::optional<microseconds> Figures::wait_after(const Schedule& schedule, std::int64_t cost,
                                                microseconds at_least) {
  const auto is_let_in = [&](const auto time) {
    return is_allowed(ask_, schedule, time, cost) == true;
  };
  auto before = at_least;
  for (auto after = std::max(at_least, tick_); after <= 2 * patience();
       before = after, after = 2 * after) {
    if (is_let_in(after)) return first_time(before, after, is_let_in);
  }
  return std::nullopt;
}

Coverage Figures::check(const std::map<std::int64_t, Fill>& fills, std::int64_t at_once,
                        rlctl::lint::AnswerObservation& seen) {
  at_once_ = at_once;
  seen_ = &seen;
  for (const auto& [cost, fill] : fills) {
    if (fill.wait) check_waits(fill, cost);
  }
  check_remaining();
  const auto& [cost, fill] = *fills.begin();
  if (fill.wait) check_resets(fill, cost);
  Coverage coverage;
  std::string judged;
  for (const auto& [figure, precision] : precisions_) {
    if (!precision) {
      coverage.not_tested.push_back(
          {std::string(figure), "no answer to a later request shows what it should be"});
      continue;
    }
    judged += fmt::format("{}{}", judged.empty() ? "" : ", ", figure);
    if (*precision > microseconds{0}) judged += " to " + span_text(*precision);
  }
  if (!judged.empty()) {
    coverage.tested.push_back("what the answers say of later ones: " + judged);
  }
  return coverage;
}

/// Keeps the figure of a kind that is most wrong.
void Figures::note(std::optional<WrongFigure>& figure, std::int64_t told, std::int64_t actual,
                   const Schedule& schedule) {
  const auto is_no_worse = [&](const WrongFigure& other) {
    return other.told < 0 ||
           (told >= 0 && std::abs(other.told - other.actual) >= std::abs(told - actual));
  };
  if (figure && is_no_worse(*figure)) return;
  figure = {.told = told, .actual = actual, .schedule = schedule_text(schedule, ask_(schedule))};
}

template <typename Test>
std::optional<bool> Figures::judge(std::string_view figure, microseconds at, microseconds slack,
                                   Test is_true) {
  auto& precision = precisions_[figure];
  for (const auto off : {microseconds{0}, slack}) {
    if (at + off < microseconds{0}) break;
    const auto judgement = is_true(at + off);
    if (!judgement) continue;
    precision = std::max(precision.value_or(microseconds{0}), std::chrono::abs(off));
    return judgement;
  }
  return std::nullopt;
}

void Figures::check_waits(const Fill& fill, std::int64_t cost) {
  for (const auto& schedule : denials(fill, cost)) {
    const auto denial = ask_(schedule).back();
    if (denial.allowed || denial.retry_after == limiter::kTimeNotTold) continue;
    check_wait(schedule, cost, denial.retry_after);
  }
}

void Figures::check_wait(const Schedule& schedule, std::int64_t cost, microseconds told) {
  const auto then = [&](microseconds after) {
    return joined(schedule, schedule.back().at + after, cost);
  };
  const auto is_let_in = [&](microseconds after) {
    return is_allowed(certain_, schedule, after, cost);
  };
  auto longest = told - kRounding;  // the wait is too long if a request is allowed by then
  if (told == limiter::kNever) {
    precisions_[kWait] = microseconds{0};
    longest = 2 * patience();
  } else if (judge(kWait, told, kTtlSlack, is_let_in) == false) {
    const auto wait = wait_after(schedule, cost, told);
    if (wait) note(seen_->short_wait, told.count(), wait->count(), then(told));
    return;
  }
  if (longest <= microseconds{0} || judge(kWait, longest, -kTtlSlack, is_let_in) != true) return;
  const auto wait = first_time(microseconds{0}, longest, [&](const auto time) {
    return is_allowed(ask_, schedule, time, cost) == true;
  });
  note(seen_->long_wait, told.count(), wait.count(), then(wait));
}

void Figures::check_remaining() {
  const auto all = static_cast<std::size_t>(at_once_) + 2;
  const auto full = joined({}, start_, 1, all);
  for (const auto& schedule : {full, joined(full, start_ + window_ / 2, 1, all),
                               joined(full, start_ + window_ + tick_, 1, all)}) {
    const auto answers = certain_(schedule);
    const auto first = schedule.size() - all;
    for (auto i = first; i < answers.size(); ++i) {
      if (answers[i].remaining == limiter::kNotTold) continue;
      precisions_[kRemaining] = microseconds{0};
      const auto told = answers[i].remaining;
      const auto actual = allowed_from(answers, i + 1);
      if (told == actual) continue;
      note(told > actual ? seen_->much_remaining : seen_->little_remaining, told, actual,
           {schedule.begin(), schedule.begin() + static_cast<std::ptrdiff_t>(i) + 1});
    }
  }
}

void Figures::check_resets(const Fill& fill, std::int64_t cost) {
  if (at_once_ == 0) return;
  std::vector<Schedule> schedules{{fill.schedule.front()}};
  const auto full = denials(fill, cost);
  schedules.insert(schedules.end(), full.begin(), full.end());
  for (const auto& schedule : schedules) {
    const auto told = ask_(schedule).back().reset_after;
    if (told == limiter::kTimeNotTold) continue;
    check_reset(schedule, told);
  }
}

void Figures::check_reset(const Schedule& schedule, microseconds told) {
  const auto then = [&](microseconds after) {
    return joined(schedule, schedule.back().at + after, 1, static_cast<std::size_t>(at_once_));
  };
  const auto is_whole_by = [&](const Ask& ask, microseconds after) -> std::optional<bool> {
    const auto answers = ask(then(after));
    if (answers.empty()) return std::nullopt;
    return allowed_from(answers, schedule.size()) == at_once_;
  };
  const auto is_certain = [&](microseconds after) { return is_whole_by(certain_, after); };
  const auto is_whole = [&](microseconds after) { return is_whole_by(ask_, after) == true; };
  if (judge(kReset, told, kTtlSlack, is_certain) == false) {
    if (!is_whole(told + 2 * patience())) return;
    const auto reset = first_time(told, told + 2 * patience(), is_whole);
    return note(seen_->early_reset, told.count(), reset.count(), then(told));
  }
  // What still counts a little may let the whole limit in.
  const auto slack = window_ / limit_.limit + kSecond;
  if (schedule.size() == 1 || told <= slack) return;
  if (judge(kReset, told - slack, -kTtlSlack, is_certain) != true) return;
  const auto reset = first_time(microseconds{0}, told - slack, is_whole);
  note(seen_->late_reset, told.count(), reset.count(), then(reset));
}

}  // namespace rlctl::cli::lint
