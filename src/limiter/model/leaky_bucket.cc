#include "limiter/model/leaky_bucket.h"

#include <algorithm>

namespace rlctl::limiter {

Wide LeakyBucketModel::wait(const Limit& limit, microseconds now) const {
  if (!last_departure_) return 0;
  const Wide next = last_departure_->parts_for(limit.limit) + limit.window.count();
  return std::max<Wide>(0, next - to_parts(now, limit.limit));
}

Decision LeakyBucketModel::look(const Limit& limit, std::int64_t cost, microseconds now) const {
  const auto burst = limit.burst.value_or(limit.limit);
  const Wide unit = limit.window.count();  // between two departures, in 1/limit µs
  const Wide wait_now = wait(limit, now);
  // The last of `cost` departures may be at most `burst` units away.
  const Wide room = (burst + 1) * unit - wait_now;
  Decision decision;
  decision.allowed = cost == 0 || cost * unit <= room;
  decision.remaining = room > 0 ? static_cast<std::int64_t>(room / unit) : 0;
  decision.reset_after = to_us_rounded_up(wait_now, limit.limit);
  if (!decision.allowed) {
    decision.retry_after =
        cost > burst + 1 ? kNever : to_us_rounded_up(cost * unit - room, limit.limit);
  } else if (cost > 0) {
    decision.delay = to_us_rounded_up(wait_now, limit.limit);
  }
  return decision;
}

Usage LeakyBucketModel::usage(const Limit& limit, microseconds now) const {
  return units_of(wait(limit, now), limit);
}

void LeakyBucketModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  const Wide first = to_parts(now, limit.limit) + wait(limit, now);
  last_departure_ =
      RationalTime{.parts = first + Wide{cost - 1} * limit.window.count(), .per_us = limit.limit};
}

void LeakyBucketModel::refund(const Limit&, std::int64_t, microseconds) {
  throw UsageError("leaky-bucket takes no refund");
}

}  // namespace rlctl::limiter
