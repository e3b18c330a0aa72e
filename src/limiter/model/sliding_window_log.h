#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limiter/model/model.h"

namespace rlctl::limiter {

/// sliding-window-log, and sliding-window-zset, which differs only in what it is stored in: the
/// time of every allowed unit. Exact: no span of one window ever holds more than the limit.
class SlidingWindowLogModel final : public KeyModel {
 public:
  [[nodiscard]] Decision look(const Limit& limit, std::int64_t cost,
                              microseconds now) const override;
  [[nodiscard]] Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  [[nodiscard]] bool empty() const override { return times().empty(); }

 private:
  /// `now`, or the newest unit's time where the clock has stepped behind it.
  [[nodiscard]] std::int64_t key_time_us(microseconds now) const;
  /// How many units at the front a window that ends at the key's time has left behind.
  [[nodiscard]] std::size_t expired(const Limit& limit, microseconds now) const;
  void prune(std::size_t units);

  /// Of each unit, oldest first.
  [[nodiscard]] std::span<const std::int64_t> times() const {
    return std::span(times_us_).subspan(first_);
  }

  // What counts begins at first_. (A deque takes 600 bytes where it has one entry, which is much
  // where there are many keys.)
  std::vector<std::int64_t> times_us_;
  std::size_t first_ = 0;
};

}  // namespace rlctl::limiter
