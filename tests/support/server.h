#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server.h"

namespace support {

/// A server for this test, or none, with a message, if no server is installed.
inline std::optional<rlctl::redis::PrivateServer> start_server(
    std::vector<std::string> arguments = {}) {
  try {
    return rlctl::redis::PrivateServer({.arguments = std::move(arguments)});
  } catch (const rlctl::redis::Error& error) {
    if (std::string(error.what()).find("no redis-server in PATH") == std::string::npos) throw;
    MESSAGE("skipped: ", std::string(error.what()));
    return std::nullopt;
  }
}

/// Whether the server is one whose words the engine has: Redis 7. Others word errors otherwise.
inline bool is_model(rlctl::redis::Connection& connection) {
  const auto version = rlctl::redis::version_of(connection).value();
  return version.family == "redis" && version.major_number() == 7;
}

}  // namespace support
