#pragma once

#include <string>
#include <string_view>

// What rlctl uses of the system, and how it is installed where it is missing: the hints of errors
// name the command of the distribution at hand.

namespace rlctl {

enum class SystemPart { kRedisServer, kRedisCli, kTimeZones };

/// The command that installs a part, "sudo apt-get install redis-tools", on the distribution whose
/// os-release(5) this is; on one that nobody described here, and without os-release, what it is
/// called: "install the package redis or valkey".
std::string how_to_install(SystemPart part, std::string_view os_release);
/// The same on this computer.
std::string how_to_install(SystemPart part);

}  // namespace rlctl
