#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "redis/connection.h"

namespace rlctl::redis {

/// Which program a server is.
struct ServerVersion {
  std::string family = {};  ///< in lower case: "redis", "valkey", "redict", "keydb"
  std::string number = {};  ///< "7.0.15"

  /// 7; -1 if the number does not begin with one.
  [[nodiscard]] int major_number() const noexcept;
  bool operator==(const ServerVersion&) const = default;
};

/// "Redis 7.0.15"
[[nodiscard]] std::string display(const ServerVersion& version);

/// What INFO server says. Those that came after Redis give themselves out as a Redis of some
/// version and have their own besides. None if there is no version in it.
[[nodiscard]] std::optional<ServerVersion> parse_info(std::string_view info);
/// "Valkey server v=8.1.1 sha=00000000:0 malloc=...", as a binary answers to --version.
[[nodiscard]] std::optional<ServerVersion> parse_version_line(std::string_view text);

/// Asks a server, which may be any user's: INFO, else HELLO, which any user may send. None if it
/// tells neither. Throws Error if the connection fails, or wants a password.
[[nodiscard]] std::optional<ServerVersion> version_of(Connection& connection);

/// Runs a binary with --version, under the name of a server: redis-check-rdb is one under that name
/// only. None if it does not say so within `at_most`, after which it is killed. Throws
/// Interrupted.
[[nodiscard]] std::optional<ServerVersion> version_of_binary(const std::string& program,
                                                             std::chrono::milliseconds at_most,
                                                             const Interrupt* interrupt = nullptr);

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
