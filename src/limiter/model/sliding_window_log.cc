#include "limiter/model/sliding_window_log.h"

#include <algorithm>
#include <iterator>

namespace rlctl::limiter {

std::int64_t SlidingWindowLogModel::key_time_us(microseconds now) const {
  return empty() ? now.count() : std::max<std::int64_t>(now.count(), times_us_.back());
}

/// Looks further and further from the front: since they were last pruned, few have left.
std::size_t SlidingWindowLogModel::expired(const Limit& limit, microseconds now) const {
  const auto times = this->times();
  const auto t = key_time_us(now);
  const auto left = [&](std::int64_t unit) { return t - unit >= limit.window.count(); };
  if (times.empty() || !left(times.front())) return 0;
  std::size_t known = 1;  // so many have left
  std::size_t step = 1;
  while (step <= times.size() - known && left(times[known + step - 1])) {
    known += step;
    step *= 2;
  }
  const auto end = known + std::min(step, times.size() - known);
  const auto first_live = std::partition_point(times.begin() + static_cast<long>(known),
                                               times.begin() + static_cast<long>(end), left);
  return static_cast<std::size_t>(first_live - times.begin());
}

void SlidingWindowLogModel::prune(std::size_t units) {
  first_ += units;
  // What is moved down is never more than what has been dropped.
  if (first_ < times_us_.size() - first_) return;
  times_us_.erase(times_us_.begin(), std::next(times_us_.begin(), static_cast<long>(first_)));
  first_ = 0;
}

Decision SlidingWindowLogModel::look(const Limit& limit, std::int64_t cost,
                                     microseconds now) const {
  const auto first_live = expired(limit, now);
  const auto live = static_cast<std::int64_t>(times().size() - first_live);
  Decision decision;
  decision.allowed = cost == 0 || live + cost <= limit.limit;
  decision.remaining = std::max<std::int64_t>(0, limit.limit - live);
  if (live > 0) decision.reset_after = microseconds{times_us_.back()} + limit.window - now;
  if (decision.allowed) return decision;
  if (cost > limit.limit) {
    decision.retry_after = kNever;
  } else {
    const auto must_leave = static_cast<std::size_t>(live + cost - limit.limit);
    const microseconds last_of_them{times()[first_live + must_leave - 1]};
    decision.retry_after = last_of_them + limit.window - now;
  }
  return decision;
}

Usage SlidingWindowLogModel::usage(const Limit& limit, microseconds now) const {
  const auto live = times().size() - expired(limit, now);
  return {.units = static_cast<std::int64_t>(live), .exact = static_cast<double>(live)};
}

void SlidingWindowLogModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  const auto t = key_time_us(now);
  prune(expired(limit, now));
  for (auto unit = cost; unit > 0; --unit) times_us_.push_back(t);
}

void SlidingWindowLogModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  const auto dropped = expired(limit, now) + static_cast<std::size_t>(units);
  prune(std::min(dropped, times().size()));
}

}  // namespace rlctl::limiter
