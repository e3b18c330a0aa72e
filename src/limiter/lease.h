#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "limiter/decision.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// A place among at most `limit` holders of a key, for `duration` unless it is renewed: what the
/// script `concurrency` keeps. The server's clock decides.
struct Lease {
  std::string key;
  std::int64_t limit = 1;    ///< 1 to kLargestLimit
  microseconds duration{1};  ///< 1 to kLongestWindow
  std::string holder;        ///< unique among the holders of the key; not empty
};

/// Takes the lease, or renews it if the holder has it. Denied: the decision's retry_after is the
/// time until leases have lapsed so that a place is free; one that is released frees it earlier.
///
/// Like the two below, takes one round trip (three if the server does not have the script) and
/// throws redis::Error.
[[nodiscard]] Decision acquire(redis::Connection& connection, const Lease& lease);
/// Denied: the lease has lapsed or somebody removed it; nothing is written.
[[nodiscard]] Decision renew(redis::Connection& connection, const Lease& lease);
/// Denied: the same.
[[nodiscard]] Decision release(redis::Connection& connection, const Lease& lease);

}  // namespace rlctl::limiter
