#include "adversary/probes.h"

#include <algorithm>

namespace rlctl::adversary {
namespace {

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

std::int64_t allowed_from(const Answers& answers, std::size_t first) {
  return std::count_if(answers.begin() + static_cast<std::ptrdiff_t>(first), answers.end(),
                       [](const auto& answer) { return answer.allowed; });
}

std::optional<ClockAhead> find_clock_ahead(const limiter::Limit& limit, microseconds start,
                                           const Ask& ask) {
  for (const microseconds ahead :
       {microseconds{std::chrono::hours{1}}, limit.window, microseconds{std::chrono::seconds{1}}}) {
    ClockAhead found{.ahead = ahead, .schedule = after_clock(limit, start, ahead, ahead)};
    found.answers = ask(found.schedule);
    const auto usual = ask(after_clock(limit, start, microseconds{0}, ahead));
    if (found.answers.empty() || usual.empty()) continue;
    found.allowed = allowed_from(found.answers, 1);
    found.usual = allowed_from(usual, 1);
    if (2 * found.allowed < found.usual) return found;
  }
  return std::nullopt;
}

std::optional<std::int64_t> find_bucket(const limiter::Limit& limit, microseconds start,
                                        const Ask& ask) {
  const auto at_once = 2 * requests_to_fill(limit, 1) + 1;
  Schedule schedule(static_cast<std::size_t>(at_once), {.at = start});
  // Two requests each time, a little late, since clocks and buckets round.
  const auto share = limit.window / limit.limit;
  for (std::int64_t i = 1; i < limit.limit; ++i) {
    schedule.insert(schedule.end(), 2, {.at = start + i * share + share / 10});
  }
  const auto answers = ask(schedule);
  const auto burst = std::ranges::find(answers, false, &Answer::allowed) - answers.begin();
  if (burst == 0 || burst >= at_once || limit.limit == 1) return std::nullopt;
  for (std::int64_t i = 0; i < std::ssize(answers); ++i) {
    const bool has_refilled = i >= at_once && (i - at_once) % 2 == 0;
    const Answer expected{.allowed = i < burst || has_refilled};
    if (answers[static_cast<std::size_t>(i)] != expected) return std::nullopt;
  }
  return burst + std::min(limit.limit, limit.window.count()) - 1;
}

}  // namespace rlctl::adversary
