#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/wait.h"
#include "exec/clock.h"
#include "redis/connection.h"
#include "redis/server.h"

// A private Redis server whose clock rlctl sets. A program that is tested as a limiter keeps its
// state there, and a ClockedDecider runs scripts there.

namespace rlctl::exec {

/// A command that a server has executed, as MONITOR shows it.
struct ServerCommand {
  std::string client = {};  ///< its address; "lua" if a script called the command
  std::vector<std::string> words = {};
  std::vector<std::string> keys = {};  ///< those at fixed places among the words
  bool writes = false;
};

/// A private server, for programs in any language, too: on a port and a unix socket, with a
/// password. Keys expire by its own TTLs: a key lives through the millisecond in which it ends, and
/// is gone in the next. Nothing else removes or changes a key, so under a virtual clock everything
/// depends on that clock alone. (A server before Redis 7 may also remove a key some time after its
/// end, which DBSIZE and a clock that goes back show.)
class [[nodiscard]] ClockedServer {
 public:
  /// Its time is `clock`'s, which must outlive it; the real one if that is null. Throws
  /// redis::Error as PrivateServer does, and Interrupted.
  explicit ClockedServer(VirtualClock* clock, const Interrupt* interrupt = nullptr);

  /// "redis://default:PASSWORD@127.0.0.1:PORT/0"; with the user's name, since redis-cli takes an
  /// empty one for a user's.
  std::string url() const;
  /// The path of its unix socket, at which the password is needed too.
  const std::string& socket() const noexcept { return server_.url().path; }
  const redis::PrivateServer& process() const noexcept { return server_; }

  /// Moves a virtual clock forward and back, and throws redis::Error(kRejected) if TIME, a script's
  /// TIME or a TTL does not follow it. Removes all keys, and leaves the clock as it was. Before
  /// anything else has connected.
  void verify();

  /// Removes all keys of all databases; scripts and functions stay. Throws redis::Error.
  void remove_keys() { server_.remove_keys(); }
  /// How many connections others have made since it started. Throws redis::Error.
  std::int64_t other_connections();
  /// The commands of others while a function runs, in order. Throws redis::Error and what the
  /// function throws.
  std::vector<ServerCommand> commands_during(const std::function<void()>& run);
  /// The TTLs of the keys of database 0 that have one, in no particular order; 0 of a key in its
  /// last millisecond, where it depends on how a limiter rounds whether it is there. Throws
  /// redis::Error.
  std::vector<std::chrono::milliseconds> ttls();

 private:
  std::int64_t connections();
  void find_keys(ServerCommand& command);
  void require_time(std::chrono::microseconds time, std::int64_t ttl_ms);

  VirtualClock* clock_;
  redis::PrivateServer server_;
  redis::Connection connection_;
  std::int64_t own_connections_ = 0;
};

}  // namespace rlctl::exec
