#pragma once

#include <chrono>
#include <cstdint>

namespace rlctl::limiter {

/// A script's reply: the six integers of the contract, rlctl-scripts(7).
struct Decision {
  bool allowed = false;
  std::int64_t remaining = 0;  ///< how many more of cost 1 would be allowed now; or kNotTold
  /// Until this request would be allowed if no others came; 0 if allowed, kNever if waiting does
  /// not help.
  std::chrono::microseconds retry_after{0};
  std::chrono::microseconds reset_after{0};  ///< until every key is as if unused
  std::chrono::microseconds delay{0};        ///< to wait before going on (leaky-bucket)
  int denied_by = 0;                         ///< the number, from 1, of the first key that denied

  bool operator==(const Decision&) const = default;
};

inline constexpr std::chrono::microseconds kNever{-1};
/// As `remaining`: a foreign script does not report it. Then a retry_after of kNever means unknown
/// as well.
inline constexpr std::int64_t kNotTold = -1;

}  // namespace rlctl::limiter
