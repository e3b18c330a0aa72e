#include "limiter/lease_model.h"

#include <algorithm>
#include <vector>

namespace rlctl::limiter {

bool LeaseModel::holds(std::string_view id, microseconds now) const {
  const auto lease = lapses_.find(id);
  return lease != lapses_.end() && lease->second > now;
}

void LeaseModel::drop_lapsed(microseconds now) {
  std::erase_if(lapses_, [&](const auto& lease) { return lease.second <= now; });
}

Decision LeaseModel::state(std::int64_t limit, microseconds now) const {
  std::int64_t live = 0;
  microseconds last = now;
  for (const auto& [id, lapse] : lapses_) {
    if (lapse > now) ++live;
    last = std::max(last, lapse);
  }
  return {.allowed = true,
          .remaining = std::max<std::int64_t>(0, limit - live),
          .reset_after = last - now};
}

Decision LeaseModel::gone(std::int64_t limit, microseconds now) const {
  Decision decision = state(limit, now);
  decision.allowed = false;
  decision.retry_after = kNever;
  decision.denied_by = 1;
  return decision;
}

/// When the live lease with this rank, counted from 1 in order of expiry, expires; it must exist.
LeaseModel::microseconds LeaseModel::lapse_by_rank(std::int64_t rank, microseconds now) const {
  std::vector<microseconds> live;
  for (const auto& [id, lapse] : lapses_) {
    if (lapse > now) live.push_back(lapse);
  }
  std::sort(live.begin(), live.end());
  return live[static_cast<std::size_t>(rank - 1)];
}

Decision LeaseModel::extend(std::int64_t limit, microseconds lease, std::string_view id,
                            microseconds now) {
  drop_lapsed(now);
  auto& lapse = lapses_[std::string(id)];
  lapse = std::max(lapse, now + lease);
  return state(limit, now);
}

Decision LeaseModel::acquire(std::int64_t limit, microseconds lease, std::string_view id,
                             microseconds now) {
  if (holds(id, now)) return extend(limit, lease, id, now);
  Decision decision = state(limit, now);
  if (decision.remaining > 0) return extend(limit, lease, id, now);
  const auto live = std::count_if(lapses_.begin(), lapses_.end(),
                                  [&](const auto& held) { return held.second > now; });
  decision.allowed = false;
  decision.retry_after = lapse_by_rank(live - limit + 1, now) - now;
  decision.denied_by = 1;
  return decision;
}

Decision LeaseModel::renew(std::int64_t limit, microseconds lease, std::string_view id,
                           microseconds now) {
  return holds(id, now) ? extend(limit, lease, id, now) : gone(limit, now);
}

Decision LeaseModel::release(std::int64_t limit, std::string_view id, microseconds now) {
  if (!holds(id, now)) return gone(limit, now);
  drop_lapsed(now);
  lapses_.erase(lapses_.find(id));
  return state(limit, now);
}

}  // namespace rlctl::limiter
