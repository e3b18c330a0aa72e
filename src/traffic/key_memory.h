#pragma once

#include <optional>
#include <span>
#include <string>

#include "redis/connection.h"

namespace rlctl::traffic {

/// Whether what chance decides in Redis may be told.
enum class Sizes {
  kAny,
  kRepeatable,  ///< only such as are the same whenever the same is stored
};

/// What a key takes in Redis, on average over those that are there now, as MEMORY USAGE says; none
/// where there is none, where the user may not ask, and, if only repeatable sizes are wanted, where
/// a key's size depends on chance: a sorted set's, once it is a skip list, and a hash table's.
[[nodiscard]] std::optional<double> bytes_per_key(redis::Connection& connection,
                                                  std::span<const std::string> keys, Sizes sizes);

}  // namespace rlctl::traffic
