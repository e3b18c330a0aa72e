#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/wait.h"
#include "redis/server_info.h"
#include "redis/url.h"

namespace rlctl::redis {

/// The binary of a server: $RLCTL_REDIS_SERVER if set, else one in a folder of PATH: redis-server,
/// valkey-server, redis-check-rdb and valkey-check-rdb (Debian's redis-tools: the same binary, a
/// server when its argv[0] says so), redict-server, keydb-server. The first one in this order, and
/// of one name in that of PATH; but where `like` says what it should be, the first of the same
/// family and major version, else the first of the same family, before the first of all. Binaries
/// are run for that (with --version) only where there are several.
///
/// Throws Error(kUnreachable) if there is none, with the packages that have one.
[[nodiscard]] std::string find_server_binary(const std::optional<ServerVersion>& like = {},
                                             const Interrupt* interrupt = nullptr);

/// A folder of mode 0700 under $TMPDIR (else /tmp) that goes with its owner. A lock in it says that
/// the owner lives: what was left behind by processes that were killed is swept by the next one
/// that makes such a folder.
class PrivateFolder {
 public:
  /// Sweeps, and makes one in which a unix socket of the name `socket_name` fits into its address.
  /// Throws Error with what to do about it.
  explicit PrivateFolder(std::string_view socket_name);
  /// Removes it with all that is in it.
  ~PrivateFolder();
  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;

  /// Absolute.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void remove() noexcept;

  std::filesystem::path path_;
  FileDescriptor lock_;
};

/// A Redis server of our own: on a unix socket in a PrivateFolder, no port, nothing saved to disk.
/// It dies with this process, also by kill -9 (Linux: the kernel kills it, PR_SET_PDEATHSIG; it
/// must be started from a thread that lives as long).
///
/// The binary is find_server_binary()'s.
class PrivateServer {
 public:
  struct Options {
    std::vector<std::string> arguments;  ///< added to the command line, e.g. {"--maxmemory", "1mb"}
    /// What it should be like, where several binaries are there; see find_server_binary().
    std::optional<ServerVersion> like = {};
    /// Ends the waiting for its first answer, with Interrupted; not used after that.
    const Interrupt* interrupt = nullptr;
  };

  /// Starts one and waits until it answers. Throws Error(kUnreachable) with the server's own words
  /// and, where no binary was found, the packages that have one. Whatever it throws, neither the
  /// process nor the folder is left.
  PrivateServer() : PrivateServer(Options{}) {}
  explicit PrivateServer(const Options& options);
  /// Kills it and removes its folder.
  ~PrivateServer();
  PrivateServer(PrivateServer&&) noexcept;
  PrivateServer& operator=(PrivateServer&&) noexcept;

  /// A unix: URL.
  [[nodiscard]] const Url& url() const noexcept { return url_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }

 private:
  PrivateServer(const Options& options, const std::string& program);
  void stop() noexcept;

  PrivateFolder folder_;
  Url url_;
  pid_t pid_ = -1;
};

}  // namespace rlctl::redis
