#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "redis/connection.h"
#include "redis/server_info.h"

// What a server tells about the scripts that ran on it, and the keys that they left.

namespace rlctl::traffic {

/// Notices that scripts ask the server for the time, by INFO commandstats, which also counts the
/// commands that scripts call. It counts for all clients: while others run scripts, nothing can be
/// said, nor if the user may not ask. (Clients that call TIME and run no script are taken for the
/// script.)
class TimeWatch {
 public:
  /// Watches from now on. Throws redis::Error if the connection breaks; so does saw_time(). The
  /// connection must outlive it, and have no reply outstanding.
  explicit TimeWatch(redis::Connection& connection);
  /// Whether one of these scripts, all those executed on this connection since the last look,
  /// called TIME.
  [[nodiscard]] bool saw_time(std::int64_t scripts);

 private:
  struct Calls {
    std::int64_t time = 0, scripts = 0;
  };
  [[nodiscard]] std::optional<Calls> count() const;

  redis::Connection& connection_;
  std::optional<Calls> last_;
};

/// What a server has spent on EVALSHA since it started. None if the user may not ask. One round
/// trip; throws redis::Error.
[[nodiscard]] std::optional<redis::CommandStats> read_server_time(redis::Connection& connection);
/// The time of each of `calls` calls made between the two. None if the server counted another
/// number of calls: others call scripts too, or its statistics were reset.
[[nodiscard]] std::optional<double> us_per_call(const std::optional<redis::CommandStats>& before,
                                                const std::optional<redis::CommandStats>& after,
                                                std::int64_t calls);

/// Which sizes of keys may be told.
enum class Sizes {
  kAny,
  kRepeatable,  ///< only those that are the same whenever the same is stored
};

/// The memory that a key takes in Redis, on average over the keys that exist now, as MEMORY USAGE
/// says. None if no key exists or the user may not ask; if only repeatable sizes are wanted, also
/// if a key's size depends on chance, as a sorted set's does once it is a skip list, and a hash
/// table's.
[[nodiscard]] std::optional<double> bytes_per_key(redis::Connection& connection,
                                                  std::span<const std::string> keys, Sizes sizes);

}  // namespace rlctl::traffic
