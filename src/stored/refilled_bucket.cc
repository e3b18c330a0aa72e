#include "stored/refilled_bucket.h"

#include <algorithm>
#include <cmath>

namespace rlctl::stored {
namespace {

/// The tokens that one step brings back.
double tokens_of_step(const limiter::Limit& limit, microseconds step) {
  return static_cast<double>(limit.limit) * static_cast<double>(step.count()) /
         static_cast<double>(limit.window.count());
}

}  // namespace

microseconds RefilledBucket::interval(const limiter::Limit& limit) const {
  return step.count() > 0 ? step : limit.window;
}

double RefilledBucket::size(const limiter::Limit& limit) const {
  return static_cast<double>(limit.burst_or_limit() + (is_queue ? 1 : 0));
}

double RefilledBucket::left_at_first(const limiter::Limit& limit) const {
  return counts_used ? static_cast<double>(limit.burst_or_limit()) - tokens : tokens;
}

double RefilledBucket::left_at(const limiter::Limit& limit, microseconds t) const {
  const auto each = interval(limit);
  const auto steps = std::max<std::int64_t>(0, (t - at) / each);
  auto gained = static_cast<double>(steps) * tokens_of_step(limit, each);
  if (whole) gained = std::floor(gained);
  return std::min(size(limit), left_at_first(limit) + gained);
}

microseconds RefilledBucket::first_with(const limiter::Limit& limit, double wanted) const {
  // Capped so that adding it to a time does not overflow.
  constexpr auto kMax = static_cast<double>(limiter::kLongestRefill.count());
  auto missing = wanted - left_at_first(limit);
  if (missing <= 0) return at;
  if (whole) missing = std::ceil(missing);
  const auto each = interval(limit);
  const auto steps = std::ceil(missing / tokens_of_step(limit, each));
  return at + microseconds{static_cast<std::int64_t>(
                  std::min(kMax, steps * static_cast<double>(each.count())))};
}

}  // namespace rlctl::stored
