#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "redis/connection.h"
#include "redis/server_info.h"

// A server's statistics about the scripts that ran on it, and the keys that they left.

namespace rlctl::traffic {

/// Detects scripts that call TIME, by INFO commandstats, which also counts the commands that
/// scripts call. It counts for all clients: this detects nothing while others run scripts, or if
/// the user may not call INFO. (A client that calls TIME without a script is mistaken for the
/// script.)
class TimeWatch {
 public:
  /// Watches from now on. Throws redis::Error if the connection breaks; so does saw_time(). The
  /// connection must outlive this, and have no reply outstanding.
  explicit TimeWatch(redis::Connection& connection);
  /// Whether a script called TIME since the last look. `scripts`: how many this connection has
  /// executed since then.
  [[nodiscard]] bool saw_time(std::int64_t scripts);

 private:
  struct Calls {
    std::int64_t time = 0, scripts = 0;
  };
  [[nodiscard]] std::optional<Calls> count() const;

  redis::Connection& connection_;
  std::optional<Calls> last_;
};

/// The calls of scripts and functions since the server started, and their time. None if the user
/// may not call INFO. One round trip; throws redis::Error.
[[nodiscard]] std::optional<redis::CommandStats> read_server_time(redis::Connection& connection);
/// The average time of `calls` calls made between the two. None if the server counted a different
/// number of calls: others call scripts too, or its statistics were reset.
[[nodiscard]] std::optional<double> us_per_call(const std::optional<redis::CommandStats>& before,
                                                const std::optional<redis::CommandStats>& after,
                                                std::int64_t calls);

/// The memory of a key in Redis by MEMORY USAGE, on average over the keys that exist now. Empty if
/// no key exists or the user may not call it.
[[nodiscard]] std::optional<double> bytes_per_key(redis::Connection& connection,
                                                  std::span<const std::string> keys);

}  // namespace rlctl::traffic
