#include "lint/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/time.h"
#include "traffic/pattern.h"

namespace rlctl::lint {

using adversary::Answers;
using adversary::Schedule;
using std::chrono::microseconds;

namespace {

/// The traffic begins this part of a window after the window, and its ticks are no longer.
constexpr int kPartOfWindow = 16;

}  // namespace

microseconds start_of_traffic(microseconds window) {
  constexpr microseconds kDecimals{123'457};
  const auto start = traffic::window_from(traffic::PatternRequest{}.start, {.window = window}) +
                     window / kPartOfWindow;
  return window >= 4 * kDecimals ? start + kDecimals : start;
}

std::int64_t requests_at_once(const limiter::Limit& limit) {
  return 2 * (std::max(limit.limit, limit.burst_or_limit()) + 1);
}

microseconds shortest_gap(microseconds window) {
  return std::min<microseconds>(std::chrono::milliseconds{1}, window / kPartOfWindow);
}

Schedule joined(Schedule schedule, microseconds at, std::int64_t cost, std::size_t count) {
  schedule.insert(schedule.end(), count, {.at = at, .cost = cost});
  return schedule;
}

bool has_cost_other_than_1(const Schedule& schedule) {
  return std::ranges::any_of(schedule, [](const auto& request) { return request.cost != 1; });
}

std::string schedule_text(const Schedule& schedule, const Answers& answers) {
  const auto instants = adversary::instants_of(schedule);
  std::string text;
  for (std::size_t i = 0; i < instants.size();) {
    // Single requests at equal gaps are one part of the text.
    const auto& first = instants[i];
    const auto& request = schedule[first.first];
    auto last = i;
    const auto gap = i + 1 < instants.size() ? instants[i + 1].at - first.at : microseconds{0};
    while (last + 1 < instants.size() && first.count == 1 && instants[last + 1].count == 1 &&
           adversary::are_alike(request, schedule[instants[last + 1].first]) &&
           instants[last + 1].at - instants[last].at == gap)
      ++last;
    const auto end = instants[last].first + instants[last].count;
    const auto allowed = std::count_if(answers.begin() + static_cast<std::ptrdiff_t>(first.first),
                                       answers.begin() + static_cast<std::ptrdiff_t>(end),
                                       std::mem_fn(&adversary::Answer::allowed));
    auto kind = first.cost == 1 ? std::string() : fmt::format(" of cost {}", first.cost);
    if (request.client > 0) kind += " of another client";
    if (request.ahead > microseconds{0}) {
      kind += fmt::format(" with a clock {} ahead", span_text(request.ahead));
    }
    text += fmt::format("{}{} of {}{}{}", i == 0 ? "" : ", ", allowed, end - first.first, kind,
                        i == 0 ? " allowed" : "");
    const auto since = [&](const adversary::Instant& instant) {
      const auto time = instant.at - schedule.front().at;
      return time == microseconds{0} ? "0 s" : span_text(time);
    };
    text += last == i ? " at " + since(first)
                      : fmt::format(" each {} from {} to {}", span_text(gap), since(first),
                                    since(instants[last]));
    i = last + 1;
  }
  return text;
}

}  // namespace rlctl::lint
