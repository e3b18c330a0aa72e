#pragma once

#include <optional>
#include <span>
#include <string>

#include "redis/connection.h"

namespace rlctl::traffic {

/// The sum of the expected values of MEMORY USAGE of these sorted sets, whose encoding is skiplist,
/// over the random levels of their nodes; 0 for none. Takes members out and adds them again: only
/// for keys that nobody else uses. Throws redis::Error; no reply may be outstanding.
///
/// None if the user may not call ZRANGE, ZREM, ZADD or MEMORY USAGE; if the members of a set differ
/// in length or are fewer than 64; and on Valkey from 8.1 on, where the size also depends on the
/// server's random hash seed.
[[nodiscard]] std::optional<double> expected_skip_list_bytes(redis::Connection& connection,
                                                             std::span<const std::string> keys);

}  // namespace rlctl::traffic
