#include "limiter/model/fixed_window.h"

#include <algorithm>

namespace rlctl::limiter {

/// A stored frame counts until its own end, whatever window this call names; also one that starts
/// in the future, or a clock that steps back would open the limiter.
FixedWindowModel::Frame FixedWindowModel::frame_at(const Limit& limit, microseconds now) const {
  if (stored_ && now < stored_->end()) return *stored_;
  return {.start = now - now % limit.window, .window = limit.window};
}

Decision FixedWindowModel::look(const Limit& limit, std::int64_t cost, microseconds now) const {
  const Frame frame = frame_at(limit, now);
  Decision decision;
  decision.allowed = cost == 0 || frame.count + cost <= limit.limit;
  decision.remaining = std::max<std::int64_t>(0, limit.limit - frame.count);
  if (frame.count > 0) decision.reset_after = frame.end() - now;
  if (!decision.allowed) {
    decision.retry_after = cost > limit.limit ? kNever : frame.end() - now;
  }
  return decision;
}

Usage FixedWindowModel::usage(const Limit& limit, microseconds now) const {
  const auto count = frame_at(limit, now).count;
  return {.units = count, .exact = static_cast<double>(count)};
}

void FixedWindowModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  stored_ = frame_at(limit, now);
  stored_->count += cost;
}

void FixedWindowModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  stored_ = frame_at(limit, now);
  stored_->count -= units;
  if (stored_->count <= 0) stored_.reset();
}

}  // namespace rlctl::limiter
