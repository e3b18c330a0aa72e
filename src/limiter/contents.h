#pragma once

#include <span>
#include <string>
#include <vector>

#include "limiter/state.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// What decode() needs of each key, in the order of `keys`: TYPE of all, then the beginning of each
/// string, and both ends of each list and sorted set, some keys at a time, since these may be
/// large. Nothing is written, nothing pruned, no TTL touched. A key that changes its type between
/// the two is looked at once more; where it does so again it has no more than its type. Throws
/// redis::Error, where the server refuses a command too (NOPERM).
[[nodiscard]] std::vector<Content> read_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

/// read_contents() in two halves, for a caller that has other commands to send in the same write:
/// the first queues, the second takes the replies and looks further.
void append_types(redis::Connection& connection, std::span<const std::string> keys);
[[nodiscard]] std::vector<Content> take_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

}  // namespace rlctl::limiter
