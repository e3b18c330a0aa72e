#pragma once

#include <cstdint>
#include <deque>

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
  [[nodiscard]] bool empty() const override { return times_us_.empty(); }

 private:
  /// `now`, or the newest unit's time where the clock has stepped behind it.
  [[nodiscard]] std::int64_t key_time_us(microseconds now) const;
  /// How many units at the front a window that ends at the key's time has left behind.
  [[nodiscard]] std::size_t expired(const Limit& limit, microseconds now) const;
  void prune(std::size_t units);

  std::deque<std::int64_t> times_us_;  // of each unit, oldest first
};

}  // namespace rlctl::limiter
