#pragma once

#include <chrono>
#include <cstdint>

namespace rlctl::limiter {

/// A script's reply: the six integers of the contract in rlctl-scripts(7).
struct Decision {
  bool allowed = false;
  std::int64_t remaining = 0;  ///< requests of cost 1 that would be allowed now, or kNotTold
  /// Time until this request would be allowed if no others came; 0 if allowed, kNever if waiting
  /// does not help, kTimeNotTold if a foreign script denied without reporting it.
  std::chrono::microseconds retry_after{0};
  std::chrono::microseconds reset_after{0};  ///< until all keys are as if unused, or kTimeNotTold
  std::chrono::microseconds delay{0};        ///< to wait before proceeding (leaky-bucket)
  /// Number, from 1, of the key that retry_after is about: of those that denied, the first of those
  /// to wait longest for. 0 if none denied.
  int denied_by = 0;

  bool operator==(const Decision&) const = default;
};

inline constexpr std::chrono::microseconds kNever{-1};
/// A time that a foreign script does not report.
inline constexpr std::chrono::microseconds kTimeNotTold{-2};
/// A `remaining` that a foreign script does not report.
inline constexpr std::int64_t kNotTold = -1;

}  // namespace rlctl::limiter
