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

// Where a key has several limits, each of them is kept under a key of its own, whose name
// redis_keys() makes of the key and the limit's window. Here is the way back, for callers that do
// not know the limits.

/// The window in the name of such a key: 60s of "{login:alice}:60s" and of "a{tag}b:60s". None
/// where redis_keys() would not write the name so: without a hash tag before the last colon, or
/// with another spelling behind it ("1m", "060s", "1000ms").
[[nodiscard]] std::optional<microseconds> window_in_name(std::string_view redis_key);

/// Called with the share of the database that has been scanned, 0 to 1.
using OnScanned = std::function<void(double)>;

/// The keys that are there and hold what a limit of `key` holds: named as redis_keys() names them,
/// whatever the window, and with limiter state of this project's in them. The shortest window
/// first. `key` itself is not among them.
///
/// Goes through the whole database by SCAN. Reads only. Throws redis::Error; `on_scanned` may be
/// empty.
[[nodiscard]] std::vector<std::string> find_family(redis::Connection& connection,
                                                   const std::string& key,
                                                   const OnScanned& on_scanned = {});

/// The same of several keys at once, in one SCAN: a family for each, in their order.
[[nodiscard]] std::vector<std::vector<std::string>> find_families(redis::Connection& connection,
                                                                  std::span<const std::string> keys,
                                                                  const OnScanned& on_scanned = {});

/// Those of find_family() that have one of the windows that people choose: to look for these takes
/// a few round trips, where a scan takes as long as there are keys.
[[nodiscard]] std::vector<std::string> find_usual_family(redis::Connection& connection,
                                                         std::string_view key);

}  // namespace rlctl::limiter
