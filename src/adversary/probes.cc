#include "adversary/probes.h"

#include <algorithm>

namespace rlctl::adversary {
namespace {

std::int64_t count_allowed(const Answers& answers, std::size_t first) {
  return std::count_if(answers.begin() + static_cast<std::ptrdiff_t>(first), answers.end(),
                       [](const Answer& answer) { return answer.allowed; });
}

/// A request whose clock is ahead, and those of a client that takes no more than its share.
Schedule after_clock(const limiter::Limit& limit, microseconds start, microseconds ahead,
                     microseconds length) {
  constexpr int kMost = 100;
  constexpr microseconds kLate{20'000};  // a key in virtual time may end this late
  const auto gap = std::max(limit.window / limit.limit, length / kMost) + kLate;
  Schedule schedule{{.at = start, .ahead = ahead}};
  for (auto at = gap; at <= std::max(length, gap); at += gap)
    schedule.push_back({.at = start + at});
  return schedule;
}

}  // namespace

std::optional<ClockAhead> find_clock_ahead(const limiter::Limit& limit, microseconds start,
                                           const Ask& ask) {
  for (const microseconds ahead :
       {microseconds{std::chrono::hours{1}}, limit.window, microseconds{std::chrono::seconds{1}}}) {
    ClockAhead found{.ahead = ahead, .schedule = after_clock(limit, start, ahead, ahead)};
    found.answers = ask(found.schedule);
    const auto usual = ask(after_clock(limit, start, microseconds{0}, ahead));
    if (found.answers.empty() || usual.empty()) continue;
    found.allowed = count_allowed(found.answers, 1);
    found.usual = count_allowed(usual, 1);
    if (2 * found.allowed < found.usual) return found;
  }
  return std::nullopt;
}

std::optional<std::int64_t> find_bucket(const limiter::Limit& limit, microseconds start,
                                        const Ask& ask) {
  const auto at_once = static_cast<std::size_t>(2 * requests_to_fill(limit, 1) + 1);
  Schedule schedule(at_once, {.at = start});
  // Two requests each time, a little late, since clocks and buckets round.
  const auto share = limit.window / limit.limit;
  for (std::int64_t i = 1; i < limit.limit; ++i) {
    schedule.insert(schedule.end(), 2, {.at = start + limit.window * i / limit.limit + share / 10});
  }
  const auto answers = ask(schedule);
  if (answers.empty() || limit.limit < 2) return std::nullopt;
  const auto first_refill = answers.begin() + static_cast<std::ptrdiff_t>(at_once);
  const auto denied = std::find_if(answers.begin(), first_refill,
                                   [](const Answer& answer) { return !answer.allowed; });
  for (auto answer = answers.begin(); answer != answers.end(); ++answer) {
    const bool is_first = answer >= first_refill && (answer - first_refill) % 2 == 0;
    if (answer->allowed != (answer < denied || is_first)) return std::nullopt;
    if (answer->delay > microseconds{0}) return std::nullopt;
  }
  if (denied == answers.begin() || denied == first_refill) return std::nullopt;
  return denied - answers.begin();
}

}  // namespace rlctl::adversary
