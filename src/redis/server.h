#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/wait.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "redis/url.h"

// What a server says of itself, and private servers. stored/ reads a server's clock, traffic/ the
// statistics of its commands, `doctor`, `debug` and `reset` its version; cli/errors/ names the
// master of a replica. cli/server/ and `debug` start a PrivateServer for the URL private:, and so
// do the tests.

namespace rlctl::redis {

// ---- The version ----

/// A server's program and version.
struct ServerVersion {
  std::string family = {};  ///< in lower case: "redis", "valkey", "redict"
  std::string number = {};  ///< "7.0.15"

  /// 7; -1 if `number` does not begin with a number.
  int major_number() const noexcept;
  bool operator==(const ServerVersion&) const = default;
};

/// "Redis 7.0.15"
std::string display(const ServerVersion& version);

/// The value of a line "name:value" in a reply to INFO; empty if there is none.
std::string_view info_field(std::string_view info, std::string_view name);

/// Parses INFO server. Valkey and Redict report a compatible Redis version as well as their own;
/// any other server is taken for the Redis that it reports to be. std::nullopt if there is no
/// version in it.
std::optional<ServerVersion> parse_info(std::string_view info);
/// Asks a server with INFO, else with HELLO, which any user may send. std::nullopt if neither
/// reports a version. Throws Error if the connection fails or requires a password, or the server is
/// not ready.
std::optional<ServerVersion> version_of(Connection& connection);

// ---- The master, the clock and the statistics ----

/// The master of a replica, without a user; std::nullopt if this is not a replica or does not say,
/// or if the server's interrupt is raised. Asks once, on a connection of its own, so that nothing
/// in flight is disturbed.
const std::optional<Url>& find_master(const Endpoint& server);

/// Why a replica's data may be out of date: it has lost its master, or has not received all of its
/// data yet. std::nullopt for another server, or if the user may send neither ROLE nor INFO. Takes
/// one round trip, or two for such a replica or user.
std::optional<std::string> why_out_of_date(Connection& connection);

/// The server's clock, from the elements `at` and `at` + 1 of a reply: seconds and microseconds
/// since 1970, as TIME replies. Throws Error if they are not a time.
std::chrono::microseconds server_time(ReplyView reply, std::size_t at = 0);

/// The number of times that a server has executed each command since it started, for all clients
/// and from scripts, by the command's name in lower case. A command that was never called is
/// absent.
using CallCounts = std::map<std::string, std::int64_t, std::less<>>;

/// INFO commandstats; in a Cluster, of all masters together. std::nullopt if the user may not ask.
/// Throws Error.
std::optional<CallCounts> read_call_counts(Connection& connection);

/// How many of the calls ran scripts or functions.
std::int64_t calls_of_scripts(const CallCounts& counts);

// ---- Private servers ----

/// A private Redis server: on a unix socket in a folder of mode 0700 under $TMPDIR (else /tmp),
/// without a port unless one is asked for, with nothing saved to disk. It dies with this process,
/// even after kill -9 (Linux: the kernel kills it, PR_SET_PDEATHSIG; so start it from a thread that
/// lives as long); only then does its folder remain, see TemporaryFolder.
///
/// The binary is $RLCTL_REDIS_SERVER if set, else the first in PATH of redis-server, valkey-server,
/// redis-check-rdb and valkey-check-rdb (Debian's redis-tools: the same binary, a server if its
/// argv[0] is a server's), redict-server.
class [[nodiscard]] PrivateServer {
 public:
  struct Options {
    std::vector<std::string> arguments;  ///< added to the command line, e.g. {"--maxmemory", "1mb"}
    /// Also added, unless the server does not start with them: it may be too old to know them.
    std::vector<std::string> optional_arguments = {};
    /// Variables for its environment ("NAME=value"), in place of those of this process.
    std::vector<std::string> environment = {};
    /// Also listen on a free port of 127.0.0.1. Then every client needs a random password, which is
    /// in url() and in tcp_url().
    bool listens_on_tcp = false;
    /// Ends the wait for the first answer, with Interrupted; not used after that. May be null.
    const Interrupt* interrupt = nullptr;
  };

  /// Starts a server and waits until it answers. Throws Error: kUsage if $TMPDIR is too long for a
  /// socket in it, else kUnreachable, with the server's own message if it does not start, and with
  /// a hint that names the packages if no binary is found. If it throws, neither the process nor
  /// the folder remains.
  PrivateServer() : PrivateServer(Options{}) {}
  explicit PrivateServer(const Options& options);

  /// Whether there is a binary. Throws Error if $RLCTL_REDIS_SERVER names none.
  static bool is_installed();

  /// A unix: URL.
  const Url& url() const noexcept { return process_->url; }
  /// With listens_on_tcp: its address for programs that know no unix sockets.
  const Url& tcp_url() const noexcept { return process_->tcp_url; }
  pid_t pid() const noexcept { return process_->pid; }
  /// Absolute.
  const std::filesystem::path& folder() const noexcept { return process_->folder->path(); }
  /// Removes all keys. Nothing else in rlctl sends FLUSHALL or FLUSHDB, so that no server but those
  /// that rlctl has started can lose its keys. Throws Error.
  void remove_keys();

 private:
  /// The destructor kills the process, and then removes its folder.
  struct Process {
    Process() = default;
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    std::optional<TemporaryFolder> folder;
    Url url, tcp_url;
    pid_t pid = -1;
    std::optional<Connection> connection;  ///< made by the first remove_keys()
  };

  std::unique_ptr<Process> process_;
};

}  // namespace rlctl::redis
