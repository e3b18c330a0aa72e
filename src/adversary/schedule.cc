#include "adversary/schedule.h"

#include <algorithm>

#include "traffic/worst_window.h"

namespace rlctl::adversary {
namespace {

/// What an exact log holds of what a limiter has allowed.
class ExactLog {
 public:
  explicit ExactLog(microseconds window) : window_(window) {}

  void allow(microseconds at) { allowed_.push_back(at); }
  /// Requests that count at a time, later ones too.
  [[nodiscard]] std::int64_t count_at(microseconds at) const {
    const auto first = std::upper_bound(allowed_.begin(), allowed_.end(), at - window_);
    return allowed_.end() - first;
  }

 private:
  microseconds window_;
  std::vector<microseconds> allowed_;  ///< oldest first
};

}  // namespace

std::vector<Instant> instants_of(const Schedule& schedule) {
  std::vector<Instant> instants;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (instants.empty() || instants.back().at != schedule[i]) {
      instants.push_back({.at = schedule[i], .first = i});
    }
    ++instants.back().count;
  }
  return instants;
}

bool steps_back(const Schedule& schedule) {
  return !std::is_sorted(schedule.begin(), schedule.end());
}

Score score_of(const Schedule& schedule, const Answers& answers, const limiter::Limit& limit,
               std::int64_t cost) {
  Score score;
  std::vector<microseconds> departures;
  ExactLog log(limit.window);
  microseconds latest = schedule.empty() ? microseconds{0} : schedule.front();
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    latest = std::max(latest, schedule[i]);
    if (answers[i].allowed) {
      departures.push_back(std::max(latest, schedule[i] + answers[i].delay));
      log.allow(latest);
    } else if ((log.count_at(schedule[i]) + 1) * cost <= limit.limit) {
      // By the earlier of the two times more counts: what would be allowed then would be by both.
      score.wrongly_denied.push_back(i);
    }
  }
  std::sort(departures.begin(), departures.end());
  traffic::WorstWindow worst(limit.window);
  for (const auto at : departures) worst.allow(at, cost);
  score.worst = worst.allowed();
  score.worst_from = worst.from();
  score.worst_span = worst.span();
  return score;
}

}  // namespace rlctl::adversary
