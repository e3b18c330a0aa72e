#pragma once

#include <string>
#include <string_view>

// The command that installs redis-server, redis-cli or the time zones on this distribution. Errors
// have it as a hint where one of them is missing.

namespace rlctl {

enum class SystemPart { kRedisServer, kRedisCli, kTimeZones };

/// The command that installs a part, "sudo apt-get install redis-tools", on the distribution whose
/// os-release(5) this is. For an unknown distribution, and without os-release, it names the
/// package: "install the package redis or valkey".
std::string how_to_install(SystemPart part, std::string_view os_release);
/// The same on this computer.
std::string how_to_install(SystemPart part);

}  // namespace rlctl
