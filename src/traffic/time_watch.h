#pragma once

#include <cstdint>
#include <optional>

#include "redis/connection.h"

namespace rlctl::traffic {

/// Notices that scripts ask the server for the time, by INFO commandstats, which counts what
/// scripts call too. It counts for all clients: where others run scripts at the same time nothing
/// can be said, nor where the user may not ask. (Others who call TIME and nothing else are taken
/// for the script.)
class TimeWatch {
 public:
  /// Watches what comes from now on. Throws redis::Error where the connection breaks; so does
  /// saw_time(). The connection must outlive it, and have no reply outstanding.
  explicit TimeWatch(redis::Connection& connection);
  /// Whether one of these scripts, all that were executed on this connection since the last look,
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

}  // namespace rlctl::traffic
