#pragma once

#include <cstdint>
#include <optional>

#include "redis/connection.h"

namespace rlctl::traffic {

/// What a server has spent on EVALSHA since it started, as INFO commandstats has it.
struct ServerTime {
  std::int64_t calls = 0;
  std::int64_t us = 0;
};

/// None where the user may not ask. One round trip; throws redis::Error.
[[nodiscard]] std::optional<ServerTime> read_server_time(redis::Connection& connection);

/// For each of `calls` calls that were made between the two; none where that is not how many the
/// server counted: others call scripts too, or its statistics were reset.
[[nodiscard]] std::optional<double> us_per_call(const std::optional<ServerTime>& before,
                                                const std::optional<ServerTime>& after,
                                                std::int64_t calls);

}  // namespace rlctl::traffic
