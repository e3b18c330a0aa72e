#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "stored/forms.h"

namespace rlctl::stored {

// If a key has several limits, each limit has its own Redis key, which redis_keys() names after the
// key and the window; the leases of a key that also has limits are at leases_key(). These functions
// do the reverse, for callers that do not know the limits.

/// The window in such a name: 60s in "{login:alice}:60s" and in "a{tag}b:60s", the longest month in
/// "{a}:month@Europe/Zurich". None if redis_keys() would not make that name: if there is no hash
/// tag before the last colon, or the window is spelt differently ("1m", "060s", "1000ms").
std::optional<microseconds> window_in_name(std::string_view redis_key);

/// Which of the existing keys with the names of a family to find.
enum class FamilyKeys {
  kLimiters,  ///< those that contain limiter state of this project
  kAll,
};

/// Called with the share of the database that has been scanned, 0 to 1.
using OnScanned = std::function<void(double)>;

/// The families of the keys, in the same order. A family is the set of existing keys that
/// redis_keys() would make from the key, with any window, and of leases_key(). The shortest window
/// comes first, the leases last; the key itself is not included.
///
/// Scans the whole database once. Reads only. Throws redis::Error; `on_scanned` may be empty.
std::vector<std::vector<std::string>> find_families(redis::Connection& connection,
                                                    std::span<const std::string> keys,
                                                    FamilyKeys which,
                                                    const OnScanned& on_scanned = {});

/// The common windows, as the names of keys have them, the shortest first.
std::span<const std::string_view> usual_windows();
/// The names that a key's family has with common windows, the shortest first, whether they exist or
/// not; of the calendar, only those of UTC. None if the key cannot carry several limits.
std::vector<std::string> usual_family_names(std::string_view key);

/// Those of them that exist, and the leases. Takes a few round trips, while the time of a scan
/// grows with the database. Names that are refused to the user are counted whether they exist or
/// not: many users may only read keys that begin as `key` does.
ReadableKeys find_usual_family(redis::Connection& connection, std::string_view key,
                               FamilyKeys which);

}  // namespace rlctl::stored
