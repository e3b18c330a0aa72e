#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace rlctl::limiter {

// The ranges of the script contract, rlctl-scripts(7). The scripts refuse everything else.

/// A limit and a burst are from 1 to this.
inline constexpr std::int64_t kLargestLimit = 1'000'000'000;
/// A cost, and a refund, is at most this; an algorithm may take less.
inline constexpr std::int64_t kLargestCost = 1'000'000'000;
/// A window is from 1 µs to this.
inline constexpr microseconds kLongestWindow = kLongestDuration;
/// `now` is from 0 to this.
inline constexpr microseconds kLatestNow = kLatestInstant;
/// A burst comes back within this: burst * window / limit is at most as long.
inline constexpr microseconds kLongestRefill{4'000'000'000'000'000};
/// limit * burst is at most this, so that it is exact as a double.
inline constexpr std::int64_t kLargestProduct = std::int64_t{1} << 53;

}  // namespace rlctl::limiter
