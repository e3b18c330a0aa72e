#pragma once

#include <optional>

#include "limiter/model/model.h"
#include "limiter/model/rational_time.h"

namespace rlctl::limiter {

/// gcra: the generic cell rate algorithm (ITU-T I.371, the virtual scheduling form): the time at
/// which the bucket would be full again, the theoretical arrival time, is all there is to keep.
class GcraModel final : public KeyModel {
 public:
  GcraModel() = default;
  /// With what is stored.
  explicit GcraModel(const RationalTime& arrival) : arrival_(arrival) {}

  [[nodiscard]] Decision look(const Limit& limit, std::int64_t cost,
                              microseconds now) const override;
  [[nodiscard]] Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  [[nodiscard]] bool empty() const override { return !arrival_; }

 private:
  /// How far the theoretical arrival time is ahead of `now`, in 1/limit µs; never below 0.
  [[nodiscard]] Wide ahead(const Limit& limit, microseconds now) const;
  /// Keeps a time that far ahead.
  void set_ahead(const Limit& limit, Wide ahead, microseconds now);

  std::optional<RationalTime> arrival_;
};

}  // namespace rlctl::limiter
