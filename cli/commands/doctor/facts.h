#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/report/findings.h"
#include "cli/server/connection.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/url.h"

namespace rlctl::cli::doctor {

using report::Finding;
using report::Severity;

// ---- What the servers answer ----

/// The value in a reply to CONFIG GET; none if it was refused.
inline std::optional<std::string_view> setting_in(const redis::Reply& reply) {
  return reply.size() == 2 ? std::optional(reply[1].text()) : std::nullopt;
}

/// The reply to TIME, and how it compares with this machine's clock.
struct ClockAnswer {
  redis::Reply time;
  /// How far the server's clock is ahead of this machine's, give or take `margin`.
  std::chrono::microseconds ahead{}, margin{};
};

/// What a server replied about its commands. A reply is an error if the user may not ask.
struct PermissionAnswers {
  std::string user;                      ///< as whom the connection is logged in
  redis::Reply load;                     ///< SCRIPT LOAD of a script that does nothing
  redis::Reply rules;                    ///< ACL GETUSER
  redis::Reply known;                    ///< COMMAND INFO of the commands that `check` calls
  std::optional<redis::Reply> run = {};  ///< EVALSHA of the script, if it was loaded
};

/// Asks the server, and writes nothing. `user` is the one of the URL. Throws redis::Error if the
/// connection fails.
PermissionAnswers ask_permissions(redis::Connection& connection, const std::string& user);

/// What one server answered. A reply may be an error, if the user may not call the command.
struct ServerFacts {
  std::string name;  ///< "127.0.0.1:7000" of the master of a Cluster; empty if there is one server
  std::chrono::microseconds round_trip{};  ///< the median of some PINGs
  redis::Reply info, hello;
  redis::Reply save, stop_writes, min_replicas, max_clients;  ///< of CONFIG GET
  redis::Reply cluster;                                       ///< CLUSTER INFO
  ClockAnswer clock;
  PermissionAnswers permissions;
  std::optional<redis::ServerVersion> version = {};

  /// A line of INFO; empty if it is not known.
  std::string_view fact(std::string_view line) const {
    return info.is_error() ? std::string_view() : redis::info_field(info.text(), line);
  }
  /// A line of INFO as a number; none if it is not known.
  std::optional<std::int64_t> number(std::string_view line) const {
    return to_number<std::int64_t>(fact(line));
  }
  /// "standalone", "cluster" or "sentinel"; empty if that is not known.
  std::string_view mode() const {
    const auto mode = hello_field(hello, "mode");
    return mode.empty() ? fact("redis_mode") : mode;  // Valkey's INFO calls it server_mode
  }
  /// "master", or "slave" or "replica"; empty if that is not known.
  std::string_view role() const {
    const auto role = fact("role");
    return role.empty() ? hello_field(hello, "role") : role;
  }
  bool is_sentinel() const { return mode() == "sentinel"; }
  bool is_of_cluster() const { return mode() == "cluster"; }
  /// Whether a script has been running for so long that the server refuses everything.
  bool is_busy() const { return info.is_error() && redis::error_code(info.text()) == "BUSY"; }
};

/// What the servers that the URL leads to answered.
struct Examination {
  redis::Url url;
  std::chrono::microseconds timeout{};
  std::chrono::microseconds round_trip{};         ///< of the first server that was asked
  std::vector<ServerFacts> servers = {};          ///< the masters of a Cluster, or the one server
  std::vector<Problem> failed = {};               ///< of masters that could not be asked
  std::optional<redis::Reply> no_slots = {};      ///< if CLUSTER SLOTS was refused
  std::vector<std::string_view> algorithms = {};  ///< of the policies; examine() does not know them
};

/// Asks the servers. Only reads, except that it loads a script. Throws ProblemError and
/// redis::Error if the first server cannot be asked, and Interrupted.
Examination examine(Connector& connector, const Interrupt& interrupt);

// ---- What follows for scripts and their commands ----

/// Whether the server runs scripts, and has the commands that ours call.
std::optional<Finding> check_scripts(const ServerFacts& server);
/// Whether the user may run what `check` calls with these algorithms, which the policies use;
/// without policies, with any.
std::optional<Finding> check_acl(const ServerFacts& server,
                                 std::span<const std::string_view> algorithms);

}  // namespace rlctl::cli::doctor
