#pragma once

#include "redis/connection.h"
#include "redis/server.h"

namespace support {

/// Whether the server is one whose words the engine has: Redis 7. Others word errors otherwise.
inline bool is_model(rlctl::redis::Connection& connection) {
  const auto version = rlctl::redis::version_of(connection).value();
  return version.family == "redis" && version.major_number() == 7;
}

}  // namespace support
