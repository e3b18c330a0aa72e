#include "redis/server_binary.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "redis/error.h"

namespace rlctl::redis {
namespace {

constexpr std::array<std::string_view, 6> kServerNames{"redis-server",    "valkey-server",
                                                       "redis-check-rdb", "valkey-check-rdb",
                                                       "redict-server",   "keydb-server"};
constexpr std::chrono::seconds kVersionTakesAtMost{2};

/// Calls visit(path, status) for each program of this name in PATH, while it returns false.
template <typename Visit>
bool find_in_path(std::string_view name, Visit visit) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    // An empty entry is the current folder, where nobody keeps a server on purpose.
    if (folder.empty()) continue;
    const auto candidate = fmt::format("{}/{}", folder, name);
    struct stat status {};
    if (::access(candidate.c_str(), X_OK) == 0 && ::stat(candidate.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && visit(candidate, status)) {
      return true;
    }
  }
  return false;
}

/// What RLCTL_REDIS_SERVER says.
std::optional<std::string> chosen_binary() {
  const char* chosen = std::getenv("RLCTL_REDIS_SERVER");
  if (chosen == nullptr || *chosen == '\0') return std::nullopt;
  std::string found = chosen;
  bool is_known = true;
  if (found.find('/') == found.npos) {
    is_known = find_in_path(chosen, [&found](const std::string& path, const struct stat&) {
      found = path;
      return true;
    });
  }
  if (is_known && ::access(found.c_str(), X_OK) == 0) return found;
  throw Error(Failure::kUnreachable,
              fmt::format("cannot start the server that RLCTL_REDIS_SERVER names: '{}': {}",
                          escape(chosen, 200), is_known ? errno_text(errno) : "not found in PATH"));
}

/// All there are, in their order; what is one file under several names stands there once.
std::vector<std::string> all_binaries() {
  std::vector<std::string> found;
  std::vector<std::pair<dev_t, ino_t>> seen;
  for (const auto name : kServerNames) {
    find_in_path(name, [&](const std::string& path, const struct stat& status) {
      const std::pair file{status.st_dev, status.st_ino};
      if (std::find(seen.begin(), seen.end(), file) != seen.end()) return false;
      seen.push_back(file);
      found.push_back(path);
      return false;
    });
  }
  return found;
}

enum class Likeness { kNotFound, kFamily, kMajor };

Likeness likeness_of(const std::string& binary, const ServerVersion& like,
                     const Interrupt* interrupt) {
  const auto version = version_of_binary(binary, kVersionTakesAtMost, interrupt);
  if (!version || version->family != like.family) return Likeness::kNotFound;
  return version->major_number() == like.major_number() ? Likeness::kMajor : Likeness::kFamily;
}

const std::string& most_alike(const std::vector<std::string>& binaries, const ServerVersion& like,
                              const Interrupt* interrupt) {
  const auto* best = &binaries.front();
  auto most = Likeness::kNotFound;
  for (const auto& binary : binaries) {
    const auto likeness = likeness_of(binary, like, interrupt);
    if (likeness <= most) continue;
    most = likeness;
    best = &binary;
    if (most == Likeness::kMajor) break;
  }
  return *best;
}

}  // namespace

std::string find_server_binary(const std::optional<ServerVersion>& like,
                               const Interrupt* interrupt) {
  if (auto chosen = chosen_binary()) return *chosen;
  const auto binaries = all_binaries();
  if (binaries.empty()) {
    throw Error(Failure::kUnreachable, "no redis-server in PATH to start a private one", {},
                "it is in the packages redis-tools, redis-server (Debian, Ubuntu), redis, valkey "
                "(Fedora, Arch, Alpine, Homebrew); RLCTL_REDIS_SERVER names one elsewhere");
  }
  if (!like || binaries.size() == 1) return binaries.front();
  return most_alike(binaries, *like, interrupt);
}

}  // namespace rlctl::redis
