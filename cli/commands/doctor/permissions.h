#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/reply.h"

namespace rlctl::cli::doctor {

/// A use of rlctl, and the commands that it calls: "GET", "SCRIPT LOAD".
struct Use {
  std::string_view name;  ///< an algorithm of `check`, or a command of rlctl
  std::vector<std::string> commands;
};

/// `check` with each algorithm, in their order. The scripts themselves say which commands they
/// call.
[[nodiscard]] std::vector<Use> uses_of_check();
/// `inspect`, `reset` and searches, with the commands that they cannot do without.
[[nodiscard]] std::vector<Use> other_uses();

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
[[nodiscard]] PermissionAnswers ask_permissions(redis::Connection& connection,
                                                const std::string& user);

/// Whether the server has shown that the user may call the command, or that it may not. Says
/// nothing about access to keys.
enum class Permission { kUnknown, kGranted, kDenied };
[[nodiscard]] Permission permission(const PermissionAnswers& answers, std::string_view command);

/// Whether the server has shown that it does not have a command of `check`.
[[nodiscard]] bool is_missing(const PermissionAnswers& answers, std::string_view command);

}  // namespace rlctl::cli::doctor
