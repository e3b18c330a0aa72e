#pragma once

#include <exception>
#include <span>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "state/inspection.h"

namespace rlctl::state {

/// At least one key; they share a Cluster slot, such as those of a key with several limits. The
/// requests' `now` must be the same in the whole group.
using UsageGroup = std::vector<InspectedKey>;

struct GroupUsage {
  /// In the order of the group. Their figures are those of inspect(), except that they have no
  /// entries of logs and no bars, next_free is empty if the limit is reached, and no window is
  /// inferred: without a known window, `used` of a log is empty.
  std::vector<Inspection> keys = {};
  /// Why the keys of this group are missing: a redis::Error, or a UsageError if the asked limit
  /// cannot be that of a key. Null if they are there.
  std::exception_ptr error = {};
};

/// Reads all keys in one round trip (two before Redis 7.0, which has no EVALSHA_RO), each group at
/// one instant, with a script that only reads. Works on a replica; scans nothing. Throws
/// redis::Error if the server cannot be asked.
[[nodiscard]] std::vector<GroupUsage> read_usage(redis::Connection& connection,
                                                 std::span<const UsageGroup> groups);

}  // namespace rlctl::state
