#pragma once

#include <chrono>
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

}  // namespace rlctl::traffic
