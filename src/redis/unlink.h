#pragma once

#include <span>
#include <string>

#include "redis/connection.h"

namespace rlctl::redis {

/// Removes keys, whatever they hold, some hundred by one command, so that none blocks the server
/// for long. Throws Error, also where the server refuses one.
void unlink_keys(Connection& connection, std::span<const std::string> keys);

}  // namespace rlctl::redis
