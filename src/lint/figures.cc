#include "lint/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace rlctl::lint {
namespace {

using adversary::Schedule;
using std::chrono::microseconds;

/// The clock may be rounded down to milliseconds, and the times in answers up.
constexpr microseconds kRounding{2000};
/// Floating point may make a time this much too short.
constexpr microseconds kPrecision{10};

Schedule then(const Schedule& schedule, microseconds after, const Retry& retry) {
  return joined(schedule, schedule.back().at + after, retry.cost, retry.count);
}

/// The first time after `before` for which this is true; it is for `until`.
template <typename Test>
microseconds first_time(microseconds before, microseconds until, Test is_true) {
  while (until - before > microseconds{1}) {
    const auto middle = before + (until - before) / 2;
    (is_true(middle) ? until : before) = middle;
  }
  return until;
}

}  // namespace

Figures::Figures(const limiter::Limit& limit, const Ask& ask, microseconds late)
    : limit_(limit),
      ask_(ask),
      precision_(kPrecision + late),
      window_(limit.window),
      start_(start_of_traffic(window_)),
      tick_(shortest_gap(window_)) {}

/// The longest that a client may have to wait for anything.
microseconds Figures::patience() const {
  constexpr int kMoreWindows = 4;
  const auto bursts = limit_.burst_or_limit() / limit_.limit + 1;
  return window_ * (kMoreWindows + bursts);
}

std::optional<bool> Figures::are_allowed(const Schedule& schedule, microseconds after,
                                         const Retry& retry) const {
  const auto answers = ask_(then(schedule, after, retry));
  if (answers.empty()) return std::nullopt;
  return allowed_from(answers, schedule.size()) == std::ssize(answers) - std::ssize(schedule);
}

std::optional<microseconds> Figures::wait_after(const Schedule& schedule, const Retry& retry,
                                                microseconds at_least) {
  const auto is_let_in = [&](const auto time) {
    return are_allowed(schedule, time, retry) == true;
  };
  const auto longest = 2 * patience();
  for (auto before = at_least, after = before; before < longest; before = after) {
    after = std::min(std::max(2 * before, tick_), longest);
    if (is_let_in(after)) return first_time(before, after, is_let_in);
  }
  return std::nullopt;
}

void Figures::check(const std::map<std::int64_t, Fill>& fills, std::int64_t at_once,
                    AnswerObservation& seen, std::vector<std::string>& tested,
                    std::vector<NotTested>& not_tested) {
  at_once_ = at_once;
  seen_ = &seen;
  for (const auto& [cost, fill] : fills) {
    if (fill.wait) check_times(fill, cost, cost == fills.begin()->first);
  }
  check_remaining(fills);
  std::string judged;
  for (const auto& [figure, is_judged] : figures_) {
    if (!is_judged) {
      not_tested.push_back(
          {std::string(figure), "no answer has it, or no later one shows what it should be"});
      continue;
    }
    judged += fmt::format("{}{}", judged.empty() ? "" : ", ", figure);
  }
  if (!judged.empty()) tested.push_back("what the answers say of later ones: " + judged);
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

/// Schedules that end with a denial: the requests that reach the limit; the same, and one more in
/// the middle of the wait; and the same after a single request of cost 1. The middle leaves a wait
/// of a fraction of a second and of a millisecond, so that rounding shows.
std::vector<Schedule> Figures::denials(const Fill& fill, std::int64_t cost) const {
  constexpr microseconds kPart{750'250};
  const auto wait = *fill.wait;
  const auto middle =
      wait < 2 * kSecond ? wait * 3001 / 4000 : wait / 2 / kSecond * kSecond + kPart;
  auto apart = adversary::shifted(fill.schedule, middle);
  apart.insert(apart.begin(), {.at = fill.schedule.front().at});
  const auto answers = ask_(apart);
  const auto denied = std::ranges::find(answers, false, &adversary::Answer::allowed);
  if (denied != answers.end()) apart.resize(static_cast<std::size_t>(denied - answers.begin()) + 1);
  return {fill.schedule, joined(fill.schedule, fill.schedule.back().at + middle, cost),
          std::move(apart)};
}

void Figures::check_remaining(const std::map<std::int64_t, Fill>& fills) {
  const auto all = static_cast<std::size_t>(at_once_) + 2;
  const auto full = joined({}, start_, 1, all);
  std::vector<Schedule> schedules{joined(full, start_ + window_ / 2, 1, all),
                                  joined(full, start_ + window_ + tick_, 1, all)};
  // Some of those that were allowed leave the window, and others stay.
  const auto half = joined({}, start_, 1, static_cast<std::size_t>(at_once_ / 2));
  const auto later = joined(half, start_ + window_ / 2, 1, all);
  schedules.push_back(joined(later, start_ + window_ + tick_, 1, all));
  for (const auto& [cost, fill] : fills) {
    schedules.push_back(joined({{.at = start_, .cost = cost}}, start_, 1, all));
  }
  for (const auto& schedule : schedules) {
    const auto answers = ask_(schedule);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto told = answers[i].remaining;
      if (schedule[i].at != schedule.back().at || told == limiter::kNotTold) continue;
      figures_[kRemaining] = true;
      const auto actual = allowed_from(answers, i + 1);
      if (told == actual) continue;
      note(told > actual ? seen_->much_remaining : seen_->little_remaining, told, actual,
           {schedule.begin(), schedule.begin() + static_cast<std::ptrdiff_t>(i) + 1});
    }
  }
}

void Figures::check_times(const Fill& fill, std::int64_t cost, bool has_resets) {
  auto schedules = denials(fill, cost);
  for (const auto count : {std::ptrdiff_t{1}, std::ssize(fill.schedule) / 2}) {
    schedules.emplace_back(fill.schedule.begin(), fill.schedule.begin() + count);
  }
  for (const auto& schedule : schedules) {
    const auto answers = ask_(schedule);
    if (answers.empty()) continue;  // mixed costs are refused
    const auto& last = answers.back();
    if (!last.allowed) {
      check_time(kWait, schedule, last.retry_after, kRounding, {.cost = cost}, seen_->short_wait,
                 seen_->long_wait);
    }
    if (!has_resets || at_once_ == 0) continue;
    // The whole limit may be allowed while an estimate counts less than one request.
    const auto count = std::clamp<std::int64_t>(allowed_from(answers, 0), 1, limit_.limit);
    check_time(kReset, schedule, last.reset_after, window_ / count + kSecond,
               {.count = static_cast<std::size_t>(at_once_)}, seen_->early_reset,
               seen_->late_reset);
  }
}

void Figures::check_time(std::string_view figure, const Schedule& schedule, microseconds told,
                         microseconds slack, const Retry& retry,
                         std::optional<WrongFigure>& short_time,
                         std::optional<WrongFigure>& long_time) {
  if (told == limiter::kTimeNotTold) return;
  const bool is_never = told == limiter::kNever;
  const auto end = is_never ? 2 * patience() : told + precision_;
  const auto is_let_in = are_allowed(schedule, end, retry);
  if (!is_let_in) return;  // mixed costs are refused
  figures_[figure] = true;
  if (!is_never && !*is_let_in) {
    const auto time = wait_after(schedule, retry, told + kPrecision);
    if (time) note(short_time, told.count(), time->count(), then(schedule, told, retry));
    return;
  }
  const auto longest = is_never ? end : told - slack;  // too long if they are allowed by then
  if (longest <= microseconds{0} || are_allowed(schedule, longest, retry) != true) return;
  const auto time = first_time(microseconds{0}, longest, [&](const auto after) {
    return are_allowed(schedule, after, retry) == true;
  });
  note(long_time, told.count(), time.count(), then(schedule, time, retry));
}

}  // namespace rlctl::lint
