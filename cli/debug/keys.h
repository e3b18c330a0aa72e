#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/debug/plan.h"
#include "redis/connection.h"
#include "redis/key_copy.h"

namespace rlctl::cli {

/// What a key holds, for a person: of a limiter's state what it says, else its beginning.
struct KeyText {
  std::string type = {};     ///< "list"
  std::string content = {};  ///< "4 of 5 used", "\"5\"", "3 elements: \"a\", \"b\", ..."
  std::string ttl = {};      ///< "ttl 59.3 s", "no ttl"
  bool operator==(const KeyText&) const = default;
};
/// "list, 4 of 5 used, ttl 59.3 s"
[[nodiscard]] std::string text_of(const KeyText& text);

/// A key before and after a script ran; none: there was no such key.
struct KeyChange {
  std::string key = {};
  std::optional<KeyText> before = {}, after = {};
  bool changed = false;
};
/// "'k': list, 4 of 5 used → 5 of 5 used, ttl 60 s". In ASCII, "->".
[[nodiscard]] std::string text_of(const KeyChange& change, bool utf8);

/// How the contents of a key are counted and read, for each type.
struct KeyReading {
  std::string_view type, count, unit;  ///< "list", "LLEN", "element"
  std::string_view read;               ///< the command
  bool has_range = false;              ///< it takes the first and the last index
  std::string_view option = {};        ///< after these
  std::string_view between = {};       ///< the two of a pair; empty: there are no pairs

  /// The command that reads a key, up to the element with index `last` if it has a range.
  [[nodiscard]] std::vector<std::string> command(const std::string& key, int last) const;
};
[[nodiscard]] std::span<const KeyReading> key_readings();

/// Sees which keys of a server of our own a script changes: its own KEYS, and, unless there are
/// very many keys, all others.
class KeyWatch {
 public:
  /// How the keys are as of now. `now` is what the script takes for the time; none: the server's
  /// clock. The plan must outlive it. Throws redis::Error.
  KeyWatch(redis::Connection& connection, const DebugPlan& plan, std::vector<std::string> keys,
           std::optional<std::chrono::microseconds> now);
  /// What has become of them: the script's keys in their order, changed or not, then others that
  /// did change. Throws redis::Error.
  [[nodiscard]] std::vector<KeyChange> changes(redis::Connection& connection) const;

 private:
  struct Held {
    redis::DumpedKey dump = {};
    std::optional<std::int64_t> expires_at_ms = {};  ///< since 1970, by the server's clock
    KeyText text = {};
  };
  using HeldKeys = std::map<std::string, Held>;
  [[nodiscard]] HeldKeys look(redis::Connection& connection) const;
  [[nodiscard]] KeyText describe(redis::Connection& connection, const redis::DumpedKey& dump) const;
  [[nodiscard]] KeyChange compare(const std::string& key, const Held* before,
                                  const Held* after) const;

  const DebugPlan& plan_;
  std::vector<std::string> keys_;
  std::optional<std::chrono::microseconds> now_;
  HeldKeys before_;
};

}  // namespace rlctl::cli
