#include "base/distribution.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>

#include "base/table.h"
#include "base/text.h"

namespace rlctl {

namespace {

struct Distribution {
  std::string_view name;  ///< ID in os-release
  std::string_view command;
  std::array<std::string_view, 3> packages;  ///< one for each SystemPart, in its order
};

// Debian's redis-tools has the server's binary as redis-check-rdb, and starts no service. Fedora
// and Arch Linux have Valkey instead of Redis, with links under Redis's names.
constexpr Distribution kDebian{
    "debian", "sudo apt-get install", {"redis-tools", "redis-tools", "tzdata"}};
constexpr std::array kDistributions{
    kDebian,
    Distribution{"alpine", "apk add", {"redis", "redis", "tzdata"}},
    Distribution{"fedora", "sudo dnf install", {"valkey", "valkey-compat-redis", "tzdata"}},
    Distribution{"arch", "sudo pacman -S", {"valkey", "valkey", "tzdata"}},
};
constexpr Distribution kOther{
    "", "install the package", {"redis or valkey", "redis or redis-tools", "tzdata"}};

/// The value of a variable in os-release; empty if it is not there.
std::string_view value_of(std::string_view os_release, std::string_view name) {
  while (!os_release.empty()) {
    auto line = take_until(os_release, "\n");
    if (take_until(line, "=") != name) continue;
    if (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
    return take_until(line, "\"'");
  }
  return {};
}

/// The row of its ID. Derivatives of Debian have Debian's packages; derivatives of others may not.
const Distribution& find_distribution(std::string_view os_release) {
  if (const auto* own = find_by_name(kDistributions, value_of(os_release, "ID"))) return *own;
  const bool is_like_debian =
      value_of(os_release, "ID_LIKE").find("debian") != std::string_view::npos;
  return is_like_debian ? kDebian : kOther;
}

}  // namespace

std::string how_to_install(SystemPart part, std::string_view os_release) {
  const auto& found = find_distribution(os_release);
  return fmt::format("{} {}", found.command, found.packages[static_cast<std::size_t>(part)]);
}

std::string how_to_install(SystemPart part) {
  std::ifstream file("/etc/os-release");
  return how_to_install(part, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace rlctl
