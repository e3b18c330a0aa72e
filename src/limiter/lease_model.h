#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "limiter/limit.h"

// A model of the script `concurrency` in C++: `burst --model` asks it, and tests compare the script
// with it, decision by decision.

namespace rlctl::limiter {

/// concurrency: at most `limit` holders at the same time, each with a lease that expires unless it
/// is renewed. It has its own contract and is therefore not a KeyModel. `remaining` is the number
/// of free leases.
class LeaseModel {
 public:
  using microseconds = std::chrono::microseconds;

  /// Acquires a lease for `id`, or renews the one it has, even if all leases are taken.
  Decision acquire(std::int64_t limit, microseconds lease, std::string_view id, microseconds now);
  /// Extends a lease that is held, but never shortens it. Denied for good if the lease is gone.
  Decision renew(std::int64_t limit, microseconds lease, std::string_view id, microseconds now);
  /// Releases the lease. Denied for good if it is gone.
  Decision release(std::int64_t limit, std::string_view id, microseconds now);
  /// True if the key would not exist in Redis.
  bool empty() const { return lapses_.empty(); }
  /// When the leases lapse, by holder; some may have lapsed.
  const std::map<std::string, microseconds, std::less<>>& lapses() const { return lapses_; }

 private:
  bool holds(std::string_view id, microseconds now) const;
  Decision state(std::int64_t limit, microseconds now) const;
  Decision gone(std::int64_t limit, microseconds now) const;
  microseconds lapse_by_rank(std::int64_t rank, microseconds now) const;
  Decision extend(std::int64_t limit, microseconds lease, std::string_view id, microseconds now);
  void drop_lapsed(microseconds now);

  std::map<std::string, microseconds, std::less<>> lapses_;  // by holder; pruned by each write
};

}  // namespace rlctl::limiter
