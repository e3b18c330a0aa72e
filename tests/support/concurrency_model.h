#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "limiter/decision.h"

namespace rlctl::limiter {

/// concurrency: at most `limit` holders at the same time, each with a lease that lapses unless it
/// is renewed. The contract is its own, so it is no KeyModel. `remaining` is the number of free
/// places.
class ConcurrencyModel {
 public:
  using microseconds = std::chrono::microseconds;

  /// A lease for `id`, or its renewal where it has one, also when all places are taken.
  Decision acquire(std::int64_t limit, microseconds lease, std::string_view id, microseconds now);
  /// Later lapse of a lease that is held; never an earlier one. Denied for good where it is gone.
  Decision renew(std::int64_t limit, microseconds lease, std::string_view id, microseconds now);
  /// Gives the place back. Denied for good where the lease is gone.
  Decision release(std::int64_t limit, std::string_view id, microseconds now);
  /// True where the key would not exist in Redis.
  [[nodiscard]] bool empty() const { return lapses_.empty(); }

 private:
  [[nodiscard]] bool holds(std::string_view id, microseconds now) const;
  [[nodiscard]] Decision state(std::int64_t limit, microseconds now) const;
  [[nodiscard]] Decision gone(std::int64_t limit, microseconds now) const;
  [[nodiscard]] microseconds lapse_by_rank(std::int64_t rank, microseconds now) const;
  Decision extend(std::int64_t limit, microseconds lease, std::string_view id, microseconds now);
  void drop_lapsed(microseconds now);

  std::map<std::string, microseconds, std::less<>> lapses_;  // by holder; lapsed ones until a write
};

}  // namespace rlctl::limiter
