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

}  // namespace rlctl::adversary
