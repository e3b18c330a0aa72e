#include "limiter/model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rlctl::limiter {

// ---- fixed-window ----

/// A stored frame counts until its own end, whatever window this call uses, even if it starts in
/// the future; otherwise a clock that steps back would open the limiter.
FixedWindowFrame FixedWindowModel::frame_at(const Limit& limit, microseconds now) const {
  if (stored_ && now < stored_->end()) return *stored_;
  const auto period = period_of(limit, now);
  return {.start = period.start, .window = period.length()};
}

Decision FixedWindowModel::peek(const Limit& limit, std::int64_t cost, microseconds now) const {
  const FixedWindowFrame frame = frame_at(limit, now);
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
  const auto period = period_of(limit, now);
  if (period.end <= stored_->end()) return;
  stored_->start = period.start;
  stored_->window = period.length();
}

void FixedWindowModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  stored_ = frame_at(limit, now);
  stored_->count -= units;
  if (stored_->count <= 0) stored_.reset();
}

// ---- sliding-window-log ----

namespace {

/// The TTL until the newest unit leaves the window; rounded up when divided by 1000.
std::int64_t needed_ttl_us(const Limit& limit, std::int64_t newest_us, microseconds now) {
  return newest_us + limit.window.count() - now.count() + 999;
}

}  // namespace

// Not inline, so that mutants of the initial values in the header take effect wherever a model is
// made.
SlidingWindowLogModel::SlidingWindowLogModel() = default;

std::int64_t SlidingWindowLogModel::key_time_us(microseconds now) const {
  return empty() ? now.count() : std::max<std::int64_t>(now.count(), times_us_.back());
}

/// Searches from the front with doubling steps: few units have expired since the last prune.
std::size_t SlidingWindowLogModel::expired(const Limit& limit, microseconds now) const {
  const auto times = this->times();
  const auto t = key_time_us(now);
  const auto left = [&](std::int64_t unit) { return t - unit >= limit.window.count(); };
  if (times.empty() || !left(times.front())) return 0;
  std::size_t known = 1;  // units that have expired
  std::size_t step = 1;
  while (step <= times.size() - known && left(times[known + step - 1])) {
    known += step;
    step *= 2;
  }
  const auto rest = times.subspan(known, std::min(step, times.size() - known));
  const auto first_live = std::partition_point(rest.begin(), rest.end(), left);
  return known + static_cast<std::size_t>(first_live - rest.begin());
}

void SlidingWindowLogModel::prune(std::size_t units) {
  first_ += units;
  // Never moves more units than have been dropped.
  if (first_ < times_us_.size() - first_) return;
  times_us_.erase(times_us_.begin(), std::next(times_us_.begin(), static_cast<long>(first_)));
  first_ = 0;
}

Decision SlidingWindowLogModel::peek(const Limit& limit, std::int64_t cost,
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
  const auto gone = expired(limit, now);
  prune(is_shared(limit, now) ? std::min(gone, static_cast<std::size_t>(cost)) : gone);
  for (auto unit = cost; unit > 0; --unit) times_us_.push_back(t);
  keep(limit, now);
}

void SlidingWindowLogModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  const auto dropped = expired(limit, now) + static_cast<std::size_t>(units);
  prune(std::min(dropped, times().size()));
  keep(limit, now);
}

bool SlidingWindowLogModel::is_shared(const Limit& limit, microseconds now) const {
  const auto needed = needed_ttl_us(limit, key_time_us(now), now);
  return 4000 * ttl_ms_ > 4 * needed + limit.window.count();
}

void SlidingWindowLogModel::keep(const Limit& limit, microseconds now) {
  if (empty()) {
    ttl_ms_ = 0;
    return;
  }
  const auto needed = needed_ttl_us(limit, times_us_.back(), now);
  if (1000 * ttl_ms_ < needed) ttl_ms_ = (4 * needed + limit.window.count()) / 4000;
}

// ---- sliding-window-counter ----

// The order of the operations is part of the contract: another order rounds differently.
double CounterFrame::with(std::int64_t cost, microseconds t) const {
  const microseconds elapsed = t - start;
  return as_double(previous) * as_double(window - elapsed) / as_double(window) +
         as_double(current) + as_double(cost);
}

std::int64_t CounterFrame::remaining(std::int64_t limit, microseconds t) const {
  const auto allows_after = [&](std::int64_t taken) {
    CounterFrame then = *this;
    then.current += taken;
    return then.with(1, t) <= as_double(limit);
  };
  // Correct the estimate, which rounding may shift by one.
  auto count = std::max<std::int64_t>(0, static_cast<std::int64_t>(as_double(limit) - with(0, t)));
  while (allows_after(count)) ++count;
  while (count > 0 && !allows_after(count - 1)) --count;
  return count;
}

microseconds CounterFrame::first_allowed(std::int64_t limit, std::int64_t cost, microseconds from,
                                         microseconds until) const {
  const auto allows = [&](microseconds t) { return with(cost, t) <= as_double(limit); };
  auto low = from;
  auto high = until;
  if (until <= from || !allows(high - microseconds{1})) return end();
  if (allows(low)) return low;
  // Any t will do, also one outside [low, high): the estimate never grows.
  const auto probe = [&](microseconds t) {
    if (allows(t)) {
      high = t;
    } else {
      low = t + microseconds{1};
    }
  };
  // Bisect, starting near the solution in real numbers.
  const auto share =
      (as_double(limit) - as_double(current) - as_double(cost)) / as_double(previous);
  const auto guess = end() - microseconds{static_cast<std::int64_t>(share * as_double(window))};
  probe(guess - microseconds{2});
  probe(guess + microseconds{2});
  while (low < high) probe(low + (high - low) / 2);
  return low;
}

/// A stored frame counts, as the current or the previous one, by its own window, whatever window
/// this call uses, even if it starts in the future.
CounterFrame SlidingWindowCounterModel::frame_at(const Limit& limit, microseconds now) const {
  if (stored_ && now < stored_->end()) return *stored_;
  if (stored_ && now < stored_->next().end()) return stored_->next();
  return {.start = now - now % limit.window, .window = limit.window};
}

/// The frame in which a request of this limit is counted: the one in force, or, if the window of
/// the limit ends later, that window, in which all units count as current.
CounterFrame SlidingWindowCounterModel::extended(const Limit& limit, microseconds now) const {
  const auto frame = frame_at(limit, now);
  const auto start = now - now % limit.window;
  if (limit.window == frame.window || start + limit.window <= frame.end()) return frame;
  return {.start = start, .window = limit.window, .current = frame.previous + frame.current};
}

/// If the window in force has ended, and an allowed request of this limit begins a shorter one: the
/// units that it carries into that.
std::optional<std::int64_t> SlidingWindowCounterModel::carried_into_shorter(
    const Limit& limit, microseconds now) const {
  const auto frame = extended(limit, now);
  if (!stored_ || now < stored_->end() || frame.window == limit.window) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(frame.with(0, now)));
}

namespace {

/// From when on the window of a call ends later than this frame.
microseconds outlasted_from(const CounterFrame& frame, const Limit& limit) {
  const auto end = frame.end();
  return limit.window == frame.window ? end : end - end % limit.window;
}

}  // namespace

Decision SlidingWindowCounterModel::peek(const Limit& limit, std::int64_t cost,
                                         microseconds now) const {
  const CounterFrame asked = extended(limit, now);
  const auto t = std::max(now, asked.start);
  Decision decision;
  decision.allowed = cost == 0 || asked.with(cost, t) <= as_double(limit.limit);
  decision.remaining = asked.remaining(limit.limit, t);
  if (const auto carried = carried_into_shorter(limit, now)) {
    decision.remaining =
        std::min(decision.remaining, std::max<std::int64_t>(1, limit.limit - *carried));
  }
  // Nothing is stored, and so the stored window goes on.
  const CounterFrame frame = frame_at(limit, now);
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
  // Once the call's window would end later than the stored one, all units count in full.
  auto first = frame.first_allowed(limit.limit, cost, std::max(now, frame.start),
                                   outlasted_from(frame, limit));
  if (first == frame.end()) {
    const auto next = frame.next();
    const auto until = std::max(next.start + microseconds{1}, outlasted_from(next, limit));
    first = next.first_allowed(limit.limit, cost, next.start, until);
  }
  decision.retry_after = first - now;
  return decision;
}

Usage SlidingWindowCounterModel::usage(const Limit& limit, microseconds now) const {
  const CounterFrame frame = extended(limit, now);
  const double estimate = frame.with(0, std::max(now, frame.start));
  return {.units = static_cast<std::int64_t>(std::ceil(estimate)), .exact = estimate};
}

void SlidingWindowCounterModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  auto frame = extended(limit, now);
  if (const auto carried = carried_into_shorter(limit, now)) {
    // The sum that allowed the request may have been rounded down.
    frame = {.start = now - now % limit.window,
             .window = limit.window,
             .current = std::min(*carried, limit.limit - cost)};
  }
  frame.current += cost;
  stored_ = frame;
}

void SlidingWindowCounterModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  stored_ = frame_at(limit, now);
  stored_->current = std::max<std::int64_t>(0, stored_->current - units);
  if (stored_->current == 0 && stored_->previous == 0) stored_.reset();
}

// ---- token-bucket ----

namespace {

double full(const Limit& limit) {
  return as_double(limit.burst_or_limit());
}

/// Whether units come back at the same rate, in the same steps.
bool has_same_rate(const Limit& one, const Limit& other) {
  return one.limit == other.limit && one.window == other.window;
}

/// Tokens rounded down so far that adding a change of the burst does not round them again.
double coarsened(double tokens) {
  constexpr double kSteps = 1 << 23;  // below 1e9 < 2^30, all their multiples are doubles
  return std::floor(tokens * kSteps) / kSteps;
}

}  // namespace

// The order of the operations is part of the contract: another order rounds differently.
double TokenBucket::tokens_at(microseconds t) const {
  return std::min(full(limit),
                  tokens + as_double(t - at) * as_double(limit.limit) / as_double(limit.window));
}

microseconds TokenBucket::first_with(std::int64_t cost, microseconds from) const {
  const auto enough = [&](microseconds t) { return tokens_at(t) >= as_double(cost); };
  const auto missing = as_double(cost) - tokens;
  const auto wait = std::ceil(missing * as_double(limit.window) / as_double(limit.limit));
  // Correct the estimate, which is off by a few µs: the whole bucket fills in at most 4e15 µs.
  auto t = std::max(from, at + microseconds{static_cast<std::int64_t>(wait)});
  while (!enough(t)) ++t;
  while (t > from && enough(t - microseconds{1})) --t;
  return t;
}

TokenBucket TokenBucketModel::bucket_at(const Limit& limit, microseconds now) const {
  return stored_.value_or(TokenBucket{.tokens = full(limit), .at = now, .limit = limit});
}

Decision TokenBucketModel::peek(const Limit& limit, std::int64_t cost, microseconds now) const {
  const auto burst = limit.burst_or_limit();
  const TokenBucket bucket = bucket_at(limit, now);
  const auto most = bucket.limit.burst_or_limit();
  const auto t = std::max(now, bucket.at);
  const double have = bucket.tokens_at(t);
  // The stored bucket must hold as much for the bucket of the call to hold the cost.
  const auto enough = cost + most - burst;
  Decision decision;
  decision.allowed = cost == 0 || have >= as_double(enough);
  decision.remaining = std::max<std::int64_t>(0, static_cast<std::int64_t>(have) - most + burst);
  if (have < full(bucket.limit)) decision.reset_after = bucket.first_with(most, t) - now;
  if (!decision.allowed) {
    decision.retry_after = cost > burst ? kNever : bucket.first_with(enough, t) - now;
  }
  return decision;
}

Usage TokenBucketModel::usage(const Limit& limit, microseconds now) const {
  const TokenBucket bucket = bucket_at(limit, now);
  const double have = bucket.tokens_at(std::max(now, bucket.at));
  return {.units = bucket.limit.burst_or_limit() - static_cast<std::int64_t>(have),
          .exact = full(bucket.limit) - have};
}

void TokenBucketModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  const TokenBucket bucket = bucket_at(limit, now);
  const auto t = std::max(now, bucket.at);
  double have = bucket.tokens_at(t);
  const double more = full(limit) - full(bucket.limit);
  if (!has_same_rate(limit, bucket.limit)) {
    have = std::floor(have);
  } else if (more != 0) {
    have = coarsened(have);
  }
  stored_ = TokenBucket{.tokens = have + more - as_double(cost), .at = t, .limit = limit};
}

void TokenBucketModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  const TokenBucket bucket = bucket_at(limit, now);
  const auto t = std::max(now, bucket.at);
  const double tokens = std::min(full(bucket.limit), bucket.tokens_at(t) + as_double(units));
  stored_ = TokenBucket{.tokens = tokens, .at = t, .limit = bucket.limit};
  if (tokens == full(bucket.limit)) stored_.reset();
}

// ---- gcra and leaky-bucket ----

namespace {

/// A unit of cost takes window/limit µs. The decision if `capacity` units fit and those already
/// there take `used`, in 1/limit µs.
Decision peek_units(const Limit& limit, std::int64_t capacity, Wide used, std::int64_t cost) {
  const Wide unit = limit.window.count();  // in 1/limit µs
  const Wide room = capacity * unit - used;
  Decision decision;
  decision.allowed = cost == 0 || cost * unit <= room;
  decision.remaining = room > 0 ? static_cast<std::int64_t>(room / unit) : 0;
  decision.reset_after = to_us_rounded_up(used, limit.limit);
  if (!decision.allowed) {
    decision.retry_after =
        cost > capacity ? kNever : to_us_rounded_up(cost * unit - room, limit.limit);
  }
  return decision;
}

}  // namespace

// ---- gcra ----

Limit GcraModel::rate(const Limit& limit) const {
  return stored_ && stored_->limit ? *stored_->limit : limit;
}

Wide GcraModel::ahead(const Limit& rate, microseconds now) const {
  if (!stored_) return 0;
  return std::max<Wide>(0, stored_->time.parts_for(rate.limit) - to_parts(now, rate.limit));
}

void GcraModel::set_ahead(const Limit& limit, Wide ahead, microseconds now) {
  stored_ = ArrivalTime{
      .time = {.parts = to_parts(now, limit.limit) + ahead, .per_us = limit.limit}, .limit = limit};
}

Decision GcraModel::peek(const Limit& limit, std::int64_t cost, microseconds now) const {
  const Limit rate = this->rate(limit);
  return peek_units(rate, limit.burst_or_limit(), ahead(rate, now), cost);
}

Usage GcraModel::usage(const Limit& limit, microseconds now) const {
  const Limit rate = this->rate(limit);
  return units_of(ahead(rate, now), rate);
}

void GcraModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  const Limit rate = this->rate(limit);
  const Wide unit = limit.window.count();  // in 1/limit µs
  Wide used = ahead(rate, now);
  if (!has_same_rate(limit, rate)) used = units_of(used, rate).units * unit;
  set_ahead(limit, used + cost * unit, now);
}

void GcraModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  const Limit rate = this->rate(limit);
  const Wide left = ahead(rate, now) - Wide{units} * rate.window.count();
  if (left > 0) {
    set_ahead(rate, left, now);
  } else {
    stored_.reset();
  }
}

// ---- leaky-bucket ----

Wide LeakyBucketModel::wait(const Limit& limit, microseconds now) const {
  if (!stored_) return 0;
  const Wide next = stored_->parts_for(limit.limit) + limit.window.count();
  return std::max<Wide>(0, next - to_parts(now, limit.limit));
}

Decision LeakyBucketModel::peek(const Limit& limit, std::int64_t cost, microseconds now) const {
  const auto burst = limit.burst_or_limit();
  const Wide wait_now = wait(limit, now);
  // The last of `cost` departures may be at most `burst` units away.
  auto decision = peek_units(limit, burst + 1, wait_now, cost);
  if (decision.allowed && cost > 0) decision.delay = to_us_rounded_up(wait_now, limit.limit);
  return decision;
}

Usage LeakyBucketModel::usage(const Limit& limit, microseconds now) const {
  return units_of(wait(limit, now), limit);
}

void LeakyBucketModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  const Wide first = to_parts(now, limit.limit) + wait(limit, now);
  stored_ =
      RationalTime{.parts = first + Wide{cost - 1} * limit.window.count(), .per_us = limit.limit};
}

void LeakyBucketModel::refund(const Limit&, std::int64_t, microseconds) {
  throw UsageError("leaky-bucket takes no refund");
}

// ---- Several keys ----

void merge(Decision& merged, const Decision& one, int number) {
  merged.remaining = std::min(merged.remaining, one.remaining);
  merged.reset_after = std::max(merged.reset_after, one.reset_after);
  merged.delay = std::max(merged.delay, one.delay);
  if (one.allowed) return;
  merged.allowed = false;
  if (merged.retry_after == kNever) return;
  if (one.retry_after != kNever && one.retry_after <= merged.retry_after) return;
  merged.retry_after = one.retry_after;
  merged.denied_by = number;
}

namespace {

/// The state of all keys at `now`: the reply to a peek, and part of every other reply.
Decision peek_all(std::span<const KeyAndLimit> keys, microseconds now) {
  Decision merged{.allowed = true, .remaining = INT64_MAX};
  for (const auto& [key, limit] : keys) {
    const Decision one = key->peek(limit, 0, now);
    merged.remaining = std::min(merged.remaining, one.remaining);
    merged.reset_after = std::max(merged.reset_after, one.reset_after);
  }
  return merged;
}

Decision request(std::span<const KeyAndLimit> keys, std::int64_t cost, microseconds now) {
  Decision merged{.allowed = true, .remaining = INT64_MAX};
  int number = 0;
  for (const auto& [key, limit] : keys) merge(merged, key->peek(limit, cost, now), ++number);
  if (!merged.allowed) {
    merged.delay = microseconds{0};
    return merged;
  }
  for (const auto& [key, limit] : keys) key->record(limit, cost, now);
  const Decision after = peek_all(keys, now);
  merged.remaining = after.remaining;
  merged.reset_after = after.reset_after;
  return merged;
}

}  // namespace

Decision decide(std::span<const KeyAndLimit> keys, std::int64_t cost, microseconds now) {
  for (const auto& [key, limit] : keys) {
    if (limit.window < kShortestWindow) throw UsageError("a window is shorter than a millisecond");
  }
  if (cost > 0) return request(keys, cost, now);
  if (cost < 0) {
    for (const auto& [key, limit] : keys) key->refund(limit, -cost, now);
  }
  return peek_all(keys, now);
}

}  // namespace rlctl::limiter
