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

/// Virtual time for the TTLs of a script's keys: what passes between two requests is taken from
/// them, and what passes really is not. It is a script of ours, which is sent among those that it
/// is about, in the same write.
///
/// When a key ends by virtual time a hash on the server holds; the TTL itself is an hour longer
/// while nobody looks. A TTL is told in whole ms, after some time: it is taken for a multiple of 10
/// ms from a second on, of 5 ms from 100 ms on, so that a key lives rather too long than too short,
/// and equally long in each run. A key ends when
/// its TTL has passed, not in the ms after that.
class KeyAging {
 public:
  enum class Scope {
    kNamed,  ///< the keys that the requests name
    kAll,    ///< each that the database holds, of which there must be few and no others
  };

  /// Loads its script. The connection must outlive it; `hash` must be in the keys' Cluster slot.
  /// Throws redis::Error.
  KeyAging(redis::Connection& connection, std::string hash);

  void set_scope(Scope scope) { scope_ = scope; }
  /// Keys end so much later, or earlier, than they would.
  void set_slack(std::chrono::microseconds slack) { slack_ = slack; }
  /// Before a request at this time that names these keys: queues what lets time pass for them. True
  /// where there is anything to do; then the reply must be read, and given to require_done().
  [[nodiscard]] bool advance(std::chrono::microseconds to, std::span<const std::string_view> keys);
  /// After the last request of those that are sent together: queues what keeps real time from its
  /// keys. As advance().
  [[nodiscard]] bool pause();
  /// Throws redis::Error for an error reply.
  static void require_done(redis::ReplyView reply);

  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }

 private:
  void append(std::chrono::microseconds to, std::span<const std::string_view> keys);

  redis::Connection& connection_;
  std::string hash_, sha1_;
  Scope scope_ = Scope::kNamed;
  bool under_way_ = false;          ///< time passes really for those of the last request
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
