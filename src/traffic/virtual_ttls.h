#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "redis/connection.h"

namespace rlctl::traffic {

/// TTLs of keys under a virtual clock, which passes other times than the server's: between two
/// requests what passes between them is taken from each key's TTL, and a key of which nothing is
/// left is removed. (How much is left is known to some ms only, so that keys live somewhat too long
/// rather than too short.)
///
/// For who asks one request at a time and shows the TTLs themselves; KeyAging, which is for
/// pipelines, keeps them an hour longer in between.
///
/// In halves, so that all of it shares a round trip with the requests:
///
///     ttls.append_ageing(connection, now);
///     ... the requests of that time, with `keys` ...
///     ttls.append_looks(connection, keys);
///     ttls.read_ageing(connection);
///     ... the replies ...
///     ttls.read_looks(connection, late);
class VirtualTtls {
 public:
  /// Queues what makes the known keys as old as they are at `now`. A time before an earlier one is
  /// taken as that one.
  void append_ageing(redis::Connection& connection, std::chrono::microseconds now);
  /// Queues a look at the TTLs of these keys, which are known from then on.
  void append_looks(redis::Connection& connection, std::span<const std::string> keys);
  /// Take the replies. `late`: by how much TTLs may be told too short, since time passed.
  void read_ageing(redis::Connection& connection);
  void read_looks(redis::Connection& connection, std::chrono::milliseconds late);

 private:
  std::chrono::microseconds latest_{0};
  std::size_t aged_ = 0;                ///< commands of the last append_ageing()
  std::vector<std::string> looked_at_;  ///< by the last append_looks()
  std::map<std::string, std::optional<std::chrono::microseconds>> expire_at_;  ///< none: never
};

}  // namespace rlctl::traffic
