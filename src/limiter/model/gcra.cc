#include "limiter/model/gcra.h"

#include <algorithm>

namespace rlctl::limiter {

Wide GcraModel::ahead(const Limit& limit, microseconds now) const {
  if (!arrival_) return 0;
  return std::max<Wide>(0, arrival_->parts_for(limit.limit) - to_parts(now, limit.limit));
}

void GcraModel::set_ahead(const Limit& limit, Wide ahead, microseconds now) {
  arrival_ = RationalTime{.parts = to_parts(now, limit.limit) + ahead, .per_us = limit.limit};
}

Decision GcraModel::look(const Limit& limit, std::int64_t cost, microseconds now) const {
  const auto burst = limit.burst.value_or(limit.limit);
  const Wide unit = limit.window.count();  // the time of one, in 1/limit µs
  const Wide ahead_now = ahead(limit, now);
  const Wide room = burst * unit - ahead_now;
  Decision decision;
  decision.allowed = cost == 0 || cost * unit <= room;
  decision.remaining = room > 0 ? static_cast<std::int64_t>(room / unit) : 0;
  decision.reset_after = to_us_rounded_up(ahead_now, limit.limit);
  if (!decision.allowed) {
    decision.retry_after =
        cost > burst ? kNever : to_us_rounded_up(cost * unit - room, limit.limit);
  }
  return decision;
}

Usage GcraModel::usage(const Limit& limit, microseconds now) const {
  return units_of(ahead(limit, now), limit);
}

void GcraModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  set_ahead(limit, ahead(limit, now) + Wide{cost} * limit.window.count(), now);
}

void GcraModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  const Wide left = ahead(limit, now) - Wide{units} * limit.window.count();
  if (left > 0) {
    set_ahead(limit, left, now);
  } else {
    arrival_.reset();
  }
}

}  // namespace rlctl::limiter
