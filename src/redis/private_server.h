#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/wait.h"
#include "redis/private_folder.h"
#include "redis/server_version.h"
#include "redis/url.h"

namespace rlctl::redis {

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
