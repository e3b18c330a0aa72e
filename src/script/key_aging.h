#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"

// Makes virtual time pass for the TTLs of Redis keys, so that a script that decides by TTLs can be
// run without waiting. simulation/virtual_run.cc uses it for bursts and searches; debug and lint
// use it for the requests that they send themselves.

namespace rlctl::script {

/// Virtual time for the TTLs of a script's keys: TTLs lose the virtual time between two requests,
/// and not the real time. key_aging.lua does this; its calls are sent between the requests, in the
/// same write.
///
/// A hash on the server holds the virtual time at which each key expires; after pause() the TTL
/// itself is an hour longer. The server reports a TTL in whole ms, and some time after it was set:
/// it is rounded up to a multiple of 10 ms from a second on, of 5 ms from 100 ms on, so that a key
/// lives equally long in each run. If more real time than that passed since advance(), as in a
/// debugger, it is added: a key lives too long rather than too short. A key expires when its TTL
/// has passed, not in the ms after that. A key with a few ms left expires by real time if the
/// server stalls before the request, and one whose TTL a request sets lives too long if the
/// server stalls before the next call: is_late() reports that this may have happened. It cannot
/// see a TTL that was set to just what the stall has left of the one before.
class KeyAging {
 public:
  /// The usual end of the hash's key.
  static constexpr const char* kHashName = "rlctl:ttls";

  /// Loads the Lua script. The connection must outlive this; `hash` must be in the keys' Cluster
  /// slot, and remains when this is destroyed. `reads_ttls`: the requests may read TTLs, so that
  /// one that stalls is late also if it leaves them as they are. Throws redis::Error.
  KeyAging(redis::Connection& connection, std::string hash, bool reads_ttls = true);

  /// Keys expire this much later, or earlier if negative.
  void set_slack(std::chrono::microseconds slack) { slack_ = slack; }
  /// Call this before a request at time `to` that names these keys: queues a call that ages them.
  /// False if there is nothing to do; otherwise the caller must read the reply and pass it to
  /// require_done().
  bool advance(std::chrono::microseconds to, std::span<const std::string_view> keys);
  /// Call this after the last of the requests that are sent together: queues a call that protects
  /// its keys from real time. Returns as advance() does.
  bool pause();
  /// Throws redis::Error for an error reply.
  static void require_done(redis::ReplyView reply);
  /// Whether a reply reports that keys of the requests before its call may have expired by real
  /// time, or now live too long, or had their TTLs read too short.
  static bool is_late(redis::ReplyView reply);
  /// Whether a reply reports that a key of the request after its call ends at most kNear before or
  /// after it. If none does, a slack of half of that changes no answer, unless TTLs are read.
  static bool is_near_end(redis::ReplyView reply);
  static constexpr std::chrono::microseconds kNear{50'000};

 private:
  void append(std::chrono::microseconds to, std::span<const std::string_view> keys);

  redis::Connection& connection_;
  std::string hash_, sha1_;
  bool reads_ttls_;
  int alike_ = 0;                   ///< requests like the last one, since the last call
  bool under_way_ = false;          ///< real time passes for the keys of the last request
  std::vector<std::string> named_;  ///< the keys of the last request, without duplicates
  std::chrono::microseconds at_{0}, slack_{0};
};

}  // namespace rlctl::script
