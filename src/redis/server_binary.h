#pragma once

#include <optional>
#include <string>

#include "base/wait.h"
#include "redis/server_version.h"

namespace rlctl::redis {

/// The binary of a server: $RLCTL_REDIS_SERVER if set, else one in a folder of PATH: redis-server,
/// valkey-server, redis-check-rdb and valkey-check-rdb (Debian's redis-tools: the same binary, a
/// server when its argv[0] says so), redict-server, keydb-server. The first one in this order, and
/// of one name in that of PATH; but where `like` says what it should be, the first of the same
/// family and major version, else the first of the same family, before the first of all. Binaries
/// are run for that (with --version) only where there are several.
///
/// Throws Error(kUnreachable) where there is none, with the packages that have one.
[[nodiscard]] std::string find_server_binary(const std::optional<ServerVersion>& like = {},
                                             const Interrupt* interrupt = nullptr);

}  // namespace rlctl::redis
