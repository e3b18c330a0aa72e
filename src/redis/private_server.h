#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/wait.h"
#include "redis/url.h"

namespace rlctl::redis {

/// A private Redis server: on a unix socket in a folder of mode 0700 under $TMPDIR (else /tmp),
/// without a port, with nothing saved to disk. It dies with this process, even after kill -9
/// (Linux: the kernel kills it, PR_SET_PDEATHSIG; so start it from a thread that lives as long);
/// only then does its folder remain.
///
/// The binary is $RLCTL_REDIS_SERVER if set, else the first in PATH of redis-server, valkey-server,
/// redis-check-rdb and valkey-check-rdb (Debian's redis-tools: the same binary, a server if its
/// argv[0] is a server's), redict-server.
class PrivateServer {
 public:
  struct Options {
    std::vector<std::string> arguments;  ///< added to the command line, e.g. {"--maxmemory", "1mb"}
    /// Ends the wait for the first answer, with Interrupted; not used after that. May be null.
    const Interrupt* interrupt = nullptr;
  };

  /// Starts a server and waits until it answers. Throws Error: kUsage if $TMPDIR is too long for a
  /// socket in it, else kUnreachable, with the server's own message if it does not start, and with
  /// a hint that names the packages if no binary is found. If it throws, neither the process nor
  /// the folder remains.
  PrivateServer() : PrivateServer(Options{}) {}
  explicit PrivateServer(const Options& options);

  /// A unix: URL.
  [[nodiscard]] const Url& url() const noexcept { return process_->url; }
  [[nodiscard]] pid_t pid() const noexcept { return process_->pid; }
  /// Absolute.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return process_->folder; }

 private:
  /// Killed, and its folder removed, in the end.
  struct Process {
    Process() = default;
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    std::filesystem::path folder;
    Url url;
    pid_t pid = -1;
  };

  std::unique_ptr<Process> process_;
};

}  // namespace rlctl::redis
