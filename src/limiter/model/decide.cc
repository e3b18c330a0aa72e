#include <algorithm>

#include "limiter/model/model.h"

namespace rlctl::limiter {
namespace {

using std::chrono::microseconds;

/// The state of all keys at `now`: what a look answers, and a part of every other answer.
Decision look_at_all(std::span<const KeyAndLimit> keys, microseconds now) {
  Decision merged{.allowed = true, .remaining = INT64_MAX};
  for (const auto& [key, limit] : keys) {
    const Decision one = key->look(limit, 0, now);
    merged.remaining = std::min(merged.remaining, one.remaining);
    merged.reset_after = std::max(merged.reset_after, one.reset_after);
  }
  return merged;
}

/// Adds what the key of this number, from 1, says to what those before it said.
void merge(Decision& merged, const Decision& one, int number) {
  merged.remaining = std::min(merged.remaining, one.remaining);
  merged.reset_after = std::max(merged.reset_after, one.reset_after);
  merged.delay = std::max(merged.delay, one.delay);
  if (one.allowed) return;
  merged.allowed = false;
  if (merged.denied_by == 0) merged.denied_by = number;
  const bool never = merged.retry_after == kNever || one.retry_after == kNever;
  merged.retry_after = never ? kNever : std::max(merged.retry_after, one.retry_after);
}

Decision request(std::span<const KeyAndLimit> keys, std::int64_t cost, microseconds now) {
  Decision merged{.allowed = true, .remaining = INT64_MAX};
  int number = 0;
  for (const auto& [key, limit] : keys) merge(merged, key->look(limit, cost, now), ++number);
  if (!merged.allowed) {
    merged.delay = microseconds{0};
    return merged;
  }
  for (const auto& [key, limit] : keys) key->record(limit, cost, now);
  const Decision after = look_at_all(keys, now);
  merged.remaining = after.remaining;
  merged.reset_after = after.reset_after;
  return merged;
}

/// The same for one key, of which there is nothing to merge.
Decision request(KeyModel& key, const Limit& limit, std::int64_t cost, microseconds now) {
  Decision decision = key.look(limit, cost, now);
  if (!decision.allowed) {
    decision.denied_by = 1;
    return decision;
  }
  key.record(limit, cost, now);
  const Decision after = key.look(limit, 0, now);
  decision.remaining = after.remaining;
  decision.reset_after = after.reset_after;
  return decision;
}

}  // namespace

Decision decide(std::span<const KeyAndLimit> keys, std::int64_t cost, microseconds now) {
  if (cost > 0 && keys.size() == 1) return request(*keys[0].key, keys[0].limit, cost, now);
  if (cost > 0) return request(keys, cost, now);
  if (cost < 0) {
    for (const auto& [key, limit] : keys) key->refund(limit, -cost, now);
  }
  return look_at_all(keys, now);
}

}  // namespace rlctl::limiter
