#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "redis/connection.h"

namespace rlctl::redis {

/// How often a server has executed a command since it started, for all clients and from scripts,
/// and for how long.
struct CommandStats {
  std::int64_t calls = 0;
  std::int64_t us = 0;
};

/// INFO commandstats: by the command's name in lower case, without those that were never called.
/// None if the user may not ask. One round trip; throws Error.
[[nodiscard]] std::optional<std::map<std::string, CommandStats, std::less<>>> read_command_stats(
    Connection& connection);

}  // namespace rlctl::redis
