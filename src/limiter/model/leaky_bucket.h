#pragma once

#include <optional>

#include "limiter/model/model.h"
#include "limiter/model/rational_time.h"

namespace rlctl::limiter {

/// leaky-bucket: the leaky bucket as a queue (Turner, 1986): requests leave one by one,
/// window/limit apart, and each is told how long it has to wait. All there is to keep is the last
/// departure.
class LeakyBucketModel final : public KeyModel {
 public:
  LeakyBucketModel() = default;
  /// With what is stored.
  explicit LeakyBucketModel(const RationalTime& last_departure) : last_departure_(last_departure) {}

  [[nodiscard]] Decision look(const Limit& limit, std::int64_t cost,
                              microseconds now) const override;
  [[nodiscard]] Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  /// A place in the queue cannot be given back: throws UsageError.
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  [[nodiscard]] bool empty() const override { return !last_departure_; }

 private:
  /// How long the next to come waits, in 1/limit µs; never below 0.
  [[nodiscard]] Wide wait(const Limit& limit, microseconds now) const;

  std::optional<RationalTime> last_departure_;
};

}  // namespace rlctl::limiter
