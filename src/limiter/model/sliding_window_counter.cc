#include "limiter/model/sliding_window_counter.h"

#include <algorithm>
#include <cmath>

namespace rlctl::limiter {
namespace {}  // namespace

// The order of the operations is part of the contract: in another one, doubles round differently.
double SlidingWindowCounterModel::Frame::with(std::int64_t cost, microseconds t) const {
  const microseconds elapsed = t - start;
  return as_double(previous) * as_double(window - elapsed) / as_double(window) +
         as_double(current) + as_double(cost);
}

std::int64_t SlidingWindowCounterModel::Frame::remaining(std::int64_t limit, microseconds t) const {
  const auto allows_after = [&](std::int64_t taken) {
    Frame then = *this;
    then.current += taken;
    return then.with(1, t) <= as_double(limit);
  };
  // An estimate, then the truth: rounding is by less than one.
  auto count = std::max<std::int64_t>(0, static_cast<std::int64_t>(as_double(limit) - with(0, t)));
  while (allows_after(count)) ++count;
  while (count > 0 && !allows_after(count - 1)) --count;
  return count;
}

microseconds SlidingWindowCounterModel::Frame::first_allowed(std::int64_t limit, std::int64_t cost,
                                                             microseconds from) const {
  const auto allows = [&](microseconds t) { return with(cost, t) <= as_double(limit); };
  auto low = from;
  auto high = end();
  if (low == high || !allows(high - microseconds{1})) return high;
  if (allows(low)) return low;
  // Bisection, begun around where real numbers would have it.
  const auto share =
      (as_double(limit) - as_double(current) - as_double(cost)) / as_double(previous);
  const auto guess = end() - microseconds{static_cast<std::int64_t>(share * as_double(window))};
  const auto just_before = guess - microseconds{2};
  const auto just_after = guess + microseconds{2};
  if (just_before >= low && just_before < high && !allows(just_before)) low = just_before;
  if (just_after >= low && just_after < high && allows(just_after)) high = just_after;
  while (low < high) {  // the estimate never grows within a frame
    const auto middle = low + (high - low) / 2;
    if (allows(middle)) {
      high = middle;
    } else {
      low = middle + microseconds{1};
    }
  }
  return low;
}

/// A stored frame counts, as current or as previous one, by its own window, whatever window this
/// call names; also one that starts in the future.
SlidingWindowCounterModel::Frame SlidingWindowCounterModel::frame_at(const Limit& limit,
                                                                     microseconds now) const {
  if (stored_ && now < stored_->end()) return *stored_;
  if (stored_ && now < stored_->next().end()) return stored_->next();
  return {.start = now - now % limit.window, .window = limit.window};
}

Decision SlidingWindowCounterModel::look(const Limit& limit, std::int64_t cost,
                                         microseconds now) const {
  const Frame frame = frame_at(limit, now);
  const auto t = std::max(now, frame.start);
  Decision decision;
  decision.allowed = cost == 0 || frame.with(cost, t) <= as_double(limit.limit);
  decision.remaining = frame.remaining(limit.limit, t);
  if (frame.current > 0) {
    decision.reset_after = frame.next().end() - now;
  } else if (frame.previous > 0) {
    decision.reset_after = frame.end() - now;
  }
  if (decision.allowed) return decision;
  if (cost > limit.limit) {
    decision.retry_after = kNever;
    return decision;
  }
  auto first = frame.first_allowed(limit.limit, cost, t);
  if (first == frame.end()) first = frame.next().first_allowed(limit.limit, cost, first);
  decision.retry_after = first - now;
  return decision;
}

Usage SlidingWindowCounterModel::usage(const Limit& limit, microseconds now) const {
  const Frame frame = frame_at(limit, now);
  const double estimate = frame.with(0, std::max(now, frame.start));
  return {.units = static_cast<std::int64_t>(std::ceil(estimate)), .exact = estimate};
}

void SlidingWindowCounterModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  stored_ = frame_at(limit, now);
  stored_->current += cost;
}

void SlidingWindowCounterModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  stored_ = frame_at(limit, now);
  stored_->current = std::max<std::int64_t>(0, stored_->current - units);
  if (stored_->current == 0 && stored_->previous == 0) stored_.reset();
}

}  // namespace rlctl::limiter
