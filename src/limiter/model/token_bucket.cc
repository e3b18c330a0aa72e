#include "limiter/model/token_bucket.h"

#include <algorithm>
#include <cmath>

namespace rlctl::limiter {
namespace {

double full(const Limit& limit) {
  return as_double(limit.burst.value_or(limit.limit));
}

}  // namespace

// The order of the operations is part of the contract: in another one, doubles round differently.
double TokenBucketModel::Bucket::tokens_at(const Limit& limit, microseconds t) const {
  return std::min(full(limit),
                  tokens + as_double(t - at) * as_double(limit.limit) / as_double(limit.window));
}

microseconds TokenBucketModel::Bucket::first_with(const Limit& limit, std::int64_t cost,
                                                  microseconds from) const {
  const auto enough = [&](microseconds t) { return tokens_at(limit, t) >= as_double(cost); };
  const auto missing = as_double(cost) - tokens;
  const auto wait = std::ceil(missing * as_double(limit.window) / as_double(limit.limit));
  // An estimate, then the truth, which is a few µs away: the whole bucket fills in at most 4e15.
  auto t = std::max(from, at + microseconds{static_cast<std::int64_t>(wait)});
  while (!enough(t)) ++t;
  while (t > from && enough(t - microseconds{1})) --t;
  return t;
}

TokenBucketModel::Bucket TokenBucketModel::bucket_at(const Limit& limit, microseconds now) const {
  return stored_.value_or(Bucket{.tokens = full(limit), .at = now});
}

Decision TokenBucketModel::look(const Limit& limit, std::int64_t cost, microseconds now) const {
  const auto burst = limit.burst.value_or(limit.limit);
  const Bucket bucket = bucket_at(limit, now);
  const auto t = std::max(now, bucket.at);
  const double have = bucket.tokens_at(limit, t);
  Decision decision;
  decision.allowed = cost == 0 || have >= as_double(cost);
  decision.remaining = static_cast<std::int64_t>(have);
  if (have < full(limit)) decision.reset_after = bucket.first_with(limit, burst, t) - now;
  if (!decision.allowed) {
    decision.retry_after = cost > burst ? kNever : bucket.first_with(limit, cost, t) - now;
  }
  return decision;
}

Usage TokenBucketModel::usage(const Limit& limit, microseconds now) const {
  const Bucket bucket = bucket_at(limit, now);
  const double have = bucket.tokens_at(limit, std::max(now, bucket.at));
  return {.units = limit.burst.value_or(limit.limit) - static_cast<std::int64_t>(have),
          .exact = full(limit) - have};
}

void TokenBucketModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  const Bucket bucket = bucket_at(limit, now);
  const auto t = std::max(now, bucket.at);
  stored_ = Bucket{.tokens = bucket.tokens_at(limit, t) - as_double(cost), .at = t};
}

void TokenBucketModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  const Bucket bucket = bucket_at(limit, now);
  const auto t = std::max(now, bucket.at);
  const double tokens = std::min(full(limit), bucket.tokens_at(limit, t) + as_double(units));
  stored_ = Bucket{.tokens = tokens, .at = t};
  if (tokens == full(limit)) stored_.reset();
}

}  // namespace rlctl::limiter
