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

/// Finds a server binary: $RLCTL_REDIS_SERVER if set, else one in PATH: redis-server,
/// valkey-server, redis-check-rdb and valkey-check-rdb (Debian's redis-tools: the same binary, a
/// server if its argv[0] is a server's), redict-server. Takes the first in this
/// order, and among equal names in the order of PATH; but if `like` is given, prefers the first of
/// the same family and major version, then the first of the same family. It runs binaries (with
/// --version) only for that, and only if there are several.
///
/// Throws Error(kUnreachable) if there is none, with a hint that names the packages that contain
/// one, or if RLCTL_REDIS_SERVER is none; and Interrupted.
[[nodiscard]] std::string find_server_binary(const std::optional<ServerVersion>& like = {},
                                             const Interrupt* interrupt = nullptr);

/// A folder of mode 0700 under $TMPDIR (else /tmp), removed with its owner. A lock in it shows that
/// the owner is alive: the next process that makes such a folder sweeps those that killed processes
/// left behind.
class PrivateFolder {
 public:
  /// Sweeps, and makes a folder whose path leaves room for a unix socket named `socket_name` in a
  /// socket address. Throws Error: kUsage if $TMPDIR is too long, else kUnreachable.
  explicit PrivateFolder(std::string_view socket_name);
  /// Removes the folder and its contents.
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

/// A private Redis server: on a unix socket in a PrivateFolder, without a port, with nothing saved
/// to disk. It dies with this process, even after kill -9 (Linux: the kernel kills it,
/// PR_SET_PDEATHSIG; so start it from a thread that lives as long).
///
/// find_server_binary() chooses the binary.
class PrivateServer {
 public:
  struct Options {
    std::vector<std::string> arguments;  ///< added to the command line, e.g. {"--maxmemory", "1mb"}
    /// The preferred version if there are several binaries; see find_server_binary().
    std::optional<ServerVersion> like = {};
    /// Ends the search for a binary and the wait for the first answer, with Interrupted; not used
    /// after that. May be null.
    const Interrupt* interrupt = nullptr;
  };

  /// Starts a server and waits until it answers. Throws what find_server_binary() and
  /// PrivateFolder() throw, and Error(kUnreachable) with the server's own message. If it throws,
  /// neither the process nor the folder remains.
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
