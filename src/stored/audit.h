#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/error.h"
#include "stored/inspection.h"

namespace rlctl::stored {

// What is wrong with keys that hold limiter state, from what was read of them.

enum class FindingKind {
  kNoTtl,       ///< nothing removes the key
  kTtlShort,    ///< the key expires while its units still count, as far as a clock was right
  kTtlLong,     ///< it stays a thousand times as long as its window, or for years
  kFuture,      ///< its times lie in the future: a clock was wrong
  kNegative,    ///< more tokens were taken than there were
  kZsetLog,     ///< a list would take a twelfth of the memory
  kTwoSlots,    ///< a decision needs keys of different Cluster slots
  kEviction,    ///< the server may delete limiters to make room
  kIncomplete,  ///< another key, which holds a part of its state, is not there
  kUnsettled,   ///< holds of reservations end, and nobody settles them
  kManyHeld,    ///< a budget denies reservations when it holds 500, or will soon
};

/// By FindingKind.
inline constexpr std::array<std::string_view, 11> kFindingNames{
    "no_ttl",    "ttl_short", "ttl_long",   "future",    "negative", "zset_log",
    "two_slots", "eviction",  "incomplete", "unsettled", "many_held"};
constexpr std::string_view name_of(FindingKind kind) {
  return kFindingNames[static_cast<std::size_t>(kind)];
}

struct Finding {
  FindingKind kind = FindingKind::kNoTtl;
  bool is_critical = false;  ///< somebody is locked out, or let in; else a waste or a risk
  std::string key = {};      ///< empty: it concerns the server
  std::string detail = {};   ///< why it hurts
  /// A command about it: "rlctl" or "redis-cli", and its words without the server; may be empty.
  std::vector<std::string> command = {};
  /// What to do instead of running the command, or to know before; without characters that a shell
  /// would interpret. Empty: the command fixes it, and harms nothing as far as is known.
  std::string advice = {};
};

/// The findings about one key, by its state at inspection.server_now, as inspect() or survey()
/// found it with no `now` in the request. `has_slots`: it is in a Cluster. `clock_behind`: see
/// ServerAudit. If the key is not recognized, at most a warning: without a TTL, or with one of
/// years, what looks like a count or a window may be one.
std::vector<Finding> audit(const Inspection& inspection, bool has_slots, microseconds clock_behind);

/// Whether audit() can compare the key's TTL, if it has one, with its window. Of a log whose window
/// is not given, it follows from the TTL or is not known.
bool is_ttl_judged(const Inspection& inspection);

struct ServerAudit {
  std::vector<Finding> findings = {};
  bool is_complete = true;                ///< false: the user may not call INFO
  std::optional<redis::Error> lost = {};  ///< why one of several servers did not answer
  /// How far at least the clock of a server is behind the one of this machine; 0 if it is hardly.
  microseconds clock_behind{0};
};
/// "; 3 keys were evicted", to end a sentence about eviction; empty if there were none.
std::string evictions_text(std::int64_t count);

/// The findings about the servers that have the keys. Throws redis::Error.
ServerAudit audit_servers(redis::Connection& connection);

}  // namespace rlctl::stored
