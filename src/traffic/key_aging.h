#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"

namespace rlctl::traffic {

/// Virtual time for the TTLs of a script's keys: the virtual time between two requests is taken
/// from them, and the real time is not. This is a script of ours, which is sent between the
/// requests, in the same write.
///
/// A hash on the server holds when each key ends by virtual time; between the calls the TTL itself
/// is an hour longer. The server tells a TTL in whole ms, and some time after it was set: it is
/// taken for a multiple of 10 ms from a second on, of 5 ms from 100 ms on, so that a key lives too
/// long rather than too short, and equally long in each run. A key ends when its TTL has passed,
/// not in the ms after that.
class KeyAging {
 public:
  /// Loads its script. The connection must outlive it; `hash` must be in the keys' Cluster slot.
  /// Throws redis::Error.
  KeyAging(redis::Connection& connection, std::string hash);

  /// Time passes for all keys of the database from now on, not only for those that requests name.
  /// There must be few, and no others than the script's.
  void age_all() { all_ = true; }
  /// Keys end this much later, or earlier if negative.
  void set_slack(std::chrono::microseconds slack) { slack_ = slack; }
  /// Before a request at this time that names these keys: queues a call that lets time pass for
  /// them. False if there is nothing to do; otherwise the reply must be read, and given to
  /// require_done().
  [[nodiscard]] bool advance(std::chrono::microseconds to, std::span<const std::string_view> keys);
  /// After the last of the requests that are sent together: queues a call that keeps real time from
  /// its keys. As advance().
  [[nodiscard]] bool pause();
  /// Throws redis::Error for an error reply.
  static void require_done(redis::ReplyView reply);

 private:
  void append(std::chrono::microseconds to, std::span<const std::string_view> keys);

  redis::Connection& connection_;
  std::string hash_, sha1_;
  bool all_ = false;
  bool under_way_ = false;          ///< real time passes for the keys of the last request
  std::vector<std::string> named_;  ///< by the last request, each once
  std::chrono::microseconds at_{0}, slack_{0};
};

/// Virtual time for the TTLs of the keys of one request at a time, for a debugger, which shows
/// them: the virtual time between two requests is taken from each key's TTL, and a key that has
/// none left is removed. (TTLs are known to a few ms only; keys live slightly too long rather than
/// too short.)
///
/// It cannot be KeyAging, whose keys have TTLs that are an hour too long, and whose calls the
/// debugger would show among the script's.
///
/// In halves, so that everything shares a round trip with the requests:
///
///     ttls.append_ageing(connection, now);
///     ... the requests of that time, with `keys` ...
///     ttls.append_looks(connection, keys);
///     ttls.read_ageing(connection);
///     ... the replies ...
///     ttls.read_looks(connection, late);
class VirtualTtls {
 public:
  /// Queues the commands that make the known keys as old as they are at `now`. Time does not go
  /// back: an earlier `now` counts as the latest one.
  void append_ageing(redis::Connection& connection, std::chrono::microseconds now);
  /// Queues a look at the TTLs of these keys, which are known from then on.
  void append_looks(redis::Connection& connection, std::span<const std::string> keys);
  /// Take the replies. `late` is the real time that has passed meanwhile, by which the TTLs may be
  /// too short.
  void read_ageing(redis::Connection& connection);
  void read_looks(redis::Connection& connection, std::chrono::milliseconds late);

 private:
  std::chrono::microseconds latest_{0};
  std::size_t aged_ = 0;                ///< commands of the last append_ageing()
  std::vector<std::string> looked_at_;  ///< by the last append_looks()
  std::map<std::string, std::optional<std::chrono::microseconds>> expire_at_;  ///< none: never
};

}  // namespace rlctl::traffic
