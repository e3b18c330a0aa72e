#pragma once

#include <span>
#include <string>
#include <vector>

#include "limiter/state.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// What decode() needs of each key, in the order of `keys`, in two round trips for all of them:
/// TYPE, then an end or two of each. Nothing is written, nothing pruned, no TTL touched. A key that
/// changes its type between the two has no more than the type it had. Throws redis::Error, where
/// the server refuses a command too (NOPERM).
[[nodiscard]] std::vector<Content> read_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

/// read_contents() in two halves, for who has other commands to send in the same write: the first
/// queues, the second takes the replies and looks further.
void append_types(redis::Connection& connection, std::span<const std::string> keys);
[[nodiscard]] std::vector<Content> take_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

}  // namespace rlctl::limiter
