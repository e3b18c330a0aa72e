#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"
#include "redis/connection.h"

namespace rlctl::limiter {

// If a key has several limits, each is kept under a key of its own, whose name redis_keys() makes
// from the key and the limit's window. These functions go the way back, for callers that do not
// know the limits.

/// The window in the name of such a key: 60s of "{login:alice}:60s" and of "a{tag}b:60s". None if
/// redis_keys() would not write the name so: without a hash tag before the last colon, or with
/// another spelling after it ("1m", "060s", "1000ms").
[[nodiscard]] std::optional<microseconds> window_in_name(std::string_view redis_key);

/// Called with the share of the database that has been scanned, 0 to 1.
using OnScanned = std::function<void(double)>;

/// The family of each key, in their order: the keys that exist and hold what one of several limits
/// of the key holds. They are named as redis_keys() names them, whatever the window, and contain
/// limiter state of this project. The shortest window comes first; the key itself is not included.
///
/// Goes through the whole database by SCAN, once. Reads only. Throws redis::Error; `on_scanned` may
/// be empty.
[[nodiscard]] std::vector<std::vector<std::string>> find_families(redis::Connection& connection,
                                                                  std::span<const std::string> keys,
                                                                  const OnScanned& on_scanned = {});

/// Those of a key's family that have one of the windows that people choose. Looking for these takes
/// a few round trips; the time of a scan grows with the database.
[[nodiscard]] std::vector<std::string> find_usual_family(redis::Connection& connection,
                                                         std::string_view key);

}  // namespace rlctl::limiter
