#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/reply.h"

namespace rlctl::cli {

/// What a user can do with rlctl, and the commands that this calls, as command_name() names them.
struct Use {
  std::string_view name;  ///< of the algorithm, or of the command of rlctl
  std::vector<std::string> commands;
};

/// One for each algorithm that `check` offers, in their order. The scripts themselves say which
/// commands they call.
[[nodiscard]] std::vector<Use> uses_of_check();
/// Those of `inspect` and `reset`, only with the commands that they cannot do without.
[[nodiscard]] std::vector<Use> other_uses();

enum class Permission {
  kGranted,
  kDenied,
  kMissing
};  ///< kMissing: the server has no such command

/// By command. Those that are not in it are not known. They say nothing about keys.
using Permissions = std::map<std::string, Permission, std::less<>>;

/// What the server says about the commands of all uses.
struct PermissionAnswers {
  std::string user;                        ///< as whom the connection is logged in
  redis::Reply load;                       ///< SCRIPT LOAD of the script that asks
  std::optional<redis::Reply> call = {};   ///< EVALSHA of it, unless it was not loaded
  std::optional<redis::Reply> rules = {};  ///< ACL GETUSER, if the script cannot tell
  std::optional<redis::Reply> watch = {};  ///< WATCH, about which no script can tell
};

/// Asks for them, and writes nothing. The connection watches a key afterwards. `user` is the one of
/// the URL. Throws redis::Error if the connection fails.
[[nodiscard]] PermissionAnswers ask_permissions(redis::Connection& connection,
                                                const std::string& user);
[[nodiscard]] Permissions permissions_in(const PermissionAnswers& answers);

}  // namespace rlctl::cli
