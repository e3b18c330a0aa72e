#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/debug/plan.h"
#include "ldb/probes.h"
#include "redis/connection.h"
#include "stored/backup.h"

namespace rlctl::cli::debug {

/// The contents of a key for display: a limiter's state, or the first elements.
struct KeyText {
  std::string type = {};     ///< "list"
  std::string content = {};  ///< "4 of 5 used", "\"5\"", "3 elements: \"a\", \"b\", ..."
  std::string ttl = {};      ///< "ttl 59.3 s", "no ttl"
};
/// Formats a key's contents: "list, 4 of 5 used, ttl 59.3 s".
std::string text_of(const KeyText& text);

/// A key before and after a script ran; `before` or `after` is none if the key did not exist then.
struct KeyChange {
  std::string key = {};
  std::optional<KeyText> before = {}, after = {};
  bool changed = false;
};
/// Formats a change: "'k': list, 4 of 5 used → 5 of 5 used, ttl 60 s"; without `utf8`, with "->".
std::string text_of(const KeyChange& change, bool utf8);

/// The command that reads a key of this type, up to index `last` if it takes indices; empty for a
/// type that cannot be shown.
std::vector<std::string> command_to_read(std::string_view type, const std::string& key, int last);

/// Calls Redis; none if nothing can be called.
using CallRedis = std::function<std::optional<ldb::Call>(const std::vector<std::string>&)>;
/// Reads a key at a stop, with its first elements as the server's debugger prints them; the content
/// is empty if the type cannot be shown, and the type is "none" if there is no such key. None if
/// Redis could not be called.
std::optional<KeyText> read_key(const CallRedis& call, const std::string& key);

/// Finds the keys that a script changes on a private server: its own KEYS and, unless there are
/// very many keys, all others.
class KeyWatch {
 public:
  /// Takes a snapshot of the keys. `now` is the script's time; none: the server's clock. The plan
  /// must outlive this. Throws redis::Error.
  KeyWatch(redis::Connection& connection, const Plan& plan, const std::vector<std::string>& keys,
           std::optional<std::chrono::microseconds> now);
  /// Compares the keys with the snapshot: the script's keys in order, changed or not, then other
  /// keys that changed. Throws redis::Error.
  std::vector<KeyChange> changes(redis::Connection& connection) const;

 private:
  struct Held {
    stored::SavedKey saved = {};
    KeyText text = {};
  };
  using HeldKeys = std::map<std::string, Held>;
  HeldKeys look(redis::Connection& connection) const;
  KeyText describe(redis::Connection& connection, const stored::SavedKey& saved) const;
  KeyChange compare(const std::string& key, const HeldKeys& after) const;

  const Plan& plan_;
  std::vector<std::string> keys_;
  std::optional<std::chrono::microseconds> now_;
  HeldKeys before_;
};

}  // namespace rlctl::cli::debug
