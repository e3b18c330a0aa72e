#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "limiter/decision.h"
#include "limiter/limit.h"

namespace rlctl::limiter {

/// How much of a limit counts at an instant. Of buckets it is what is missing from a full one, of a
/// queue how far it reaches ahead, in units.
struct Usage {
  std::int64_t units = 0;  ///< rounded up; above the limit where that has been lowered
  double exact = 0;        ///< not rounded, for display; where units are kept whole, the same
};

/// What one key holds under one algorithm, in plain C++: the oracle against which the scripts are
/// tested, and the limiter of large replays. Written to be obviously right; the semantics are those
/// of rlctl-scripts(7). Times are µs since 1970, none before the year 1970.
class KeyModel {
 public:
  virtual ~KeyModel() = default;

  /// What a request of this cost (>= 0) would be answered; records nothing. A cost of 0 is always
  /// allowed. remaining and reset_after are those of the state as it is, before any recording.
  [[nodiscard]] virtual Decision look(const Limit& limit, std::int64_t cost,
                                      std::chrono::microseconds now) const = 0;
  /// How much counts at `now`: what a limit of more than that would leave over.
  [[nodiscard]] virtual Usage usage(const Limit& limit, std::chrono::microseconds now) const = 0;
  /// Records a request that look() allowed.
  virtual void record(const Limit& limit, std::int64_t cost, std::chrono::microseconds now) = 0;
  /// Gives back `units` (>= 1).
  virtual void refund(const Limit& limit, std::int64_t units, std::chrono::microseconds now) = 0;
  /// True where the key would not exist in Redis.
  [[nodiscard]] virtual bool empty() const = 0;
};

struct KeyAndLimit {
  KeyModel* key = nullptr;
  Limit limit;
};

/// One decision over several keys, as a script makes it: all allow and all record, or none. A cost
/// of 0 looks, below 0 refunds.
[[nodiscard]] Decision decide(std::span<const KeyAndLimit> keys, std::int64_t cost,
                              std::chrono::microseconds now);

// Doubles are what the scripts compute in.
[[nodiscard]] inline double as_double(std::int64_t value) {
  return static_cast<double>(value);
}
[[nodiscard]] inline double as_double(microseconds value) {
  return static_cast<double>(value.count());
}

}  // namespace rlctl::limiter
