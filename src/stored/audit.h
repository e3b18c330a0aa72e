#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "stored/inspection.h"

namespace rlctl::stored {

// What is wrong with keys that hold limiter state, from what was read of them.

enum class FindingKind {
  kNoTtl,       ///< nothing removes the key
  kTtlShort,    ///< the key expires while its units still count, as far as a clock was right
  kTtlLong,     ///< it stays a thousand times as long as its window
  kFuture,      ///< its times lie in the future: a clock was wrong
  kNegative,    ///< more tokens were taken than there were
  kZsetLog,     ///< a list would take a twelfth of the memory
  kTwoSlots,    ///< a decision needs keys of different Cluster slots
  kEviction,    ///< the server may delete limiters to make room
  kIncomplete,  ///< another key, which holds a part of its state, is not there
};

/// "no_ttl", "ttl_short"
std::string_view name_of(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kNoTtl;
  bool is_critical = false;  ///< somebody is locked out, or let in; else a waste or a risk
  std::string key = {};      ///< empty: it concerns the server
  std::string detail = {};   ///< why it hurts
  /// The command that fixes it: "rlctl" or "redis-cli", and its words without the server. Empty:
  /// see `advice`.
  std::vector<std::string> command = {};
  std::string advice = {};
  std::string server =
      {};  ///< for the command: one of Connection::servers(); empty: where the key is
};

/// The findings about one key, by its state at inspection.server_now, as inspect() or survey()
/// found it with no `now` in the request. `has_slots`: it is in a Cluster. If the key is
/// not recognized, at most a warning: without a TTL, what looks like a count or a window may be
/// one.
std::vector<Finding> audit(const Inspection& inspection, bool has_slots);

/// Whether audit() can compare the key's TTL, if it has one, with its window. Of a log whose window
/// is not given, it follows from the TTL or is not known.
bool is_ttl_judged(const Inspection& inspection);

struct ServerAudit {
  std::vector<Finding> findings = {};
  bool is_complete = true;  ///< false: the user may not call INFO
};
/// The findings about the servers that have the keys. Throws redis::Error.
ServerAudit audit_servers(redis::Connection& connection);

}  // namespace rlctl::stored
