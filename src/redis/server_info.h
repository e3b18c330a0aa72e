#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "redis/connection.h"
#include "redis/reply.h"

namespace rlctl::redis {

/// A server's program and version.
struct ServerVersion {
  std::string family = {};  ///< in lower case: "redis", "valkey", "redict"
  std::string number = {};  ///< "7.0.15"

  /// 7; -1 if `number` does not begin with a number.
  [[nodiscard]] int major_number() const noexcept;
  bool operator==(const ServerVersion&) const = default;
};

/// "Redis 7.0.15"
[[nodiscard]] std::string display(const ServerVersion& version);

/// The value of a line "name:value" in a reply to INFO; empty if there is none.
[[nodiscard]] std::string_view info_field(std::string_view info, std::string_view name);

/// Parses INFO server. Valkey and Redict report a compatible Redis version as well as their own;
/// any other server is taken for the Redis that it reports to be. std::nullopt if there is no
/// version in it.
[[nodiscard]] std::optional<ServerVersion> parse_info(std::string_view info);
/// Asks a server with INFO, else with HELLO, which any user may send. std::nullopt if neither
/// reports a version. Throws Error if the connection fails or requires a password, or the server is
/// not ready.
[[nodiscard]] std::optional<ServerVersion> version_of(Connection& connection);

/// The master of a replica, without a user; std::nullopt if this is not a replica or does not say,
/// or if the server's interrupt is raised. Asks once, on a connection of its own, so that nothing
/// in flight is disturbed.
[[nodiscard]] const std::optional<Url>& find_master(const Endpoint& server);

/// The server's clock, from the elements `at` and `at` + 1 of a reply: seconds and microseconds
/// since 1970, as TIME replies. Throws Error if they are not a time.
[[nodiscard]] std::chrono::microseconds server_time(ReplyView reply, std::size_t at = 0);

/// How often, and for how long in total, a server has executed a command since it started, for all
/// clients and from scripts.
struct CommandStats {
  std::int64_t calls = 0;
  std::int64_t us = 0;
};

/// INFO commandstats, by command name in lower case, without commands that were never called; in a
/// Cluster, of all masters together. std::nullopt if the user may not ask. Throws Error.
[[nodiscard]] std::optional<std::map<std::string, CommandStats, std::less<>>> read_command_stats(
    Connection& connection);

/// Of all commands that run scripts and functions together.
[[nodiscard]] CommandStats stats_of_scripts(
    const std::map<std::string, CommandStats, std::less<>>& stats);

}  // namespace rlctl::redis
