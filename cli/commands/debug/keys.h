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
#include "debugger/run.h"
#include "keyspace/keyspace.h"
#include "redis/connection.h"

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
/// The command that writes a key of a type that can be shown: what reading all of it has replied.
std::vector<std::string_view> command_to_write(std::string_view type, std::string_view key,
                                               const redis::Reply& all);

/// Calls Redis.
using CallRedis = std::function<debugger::Call(const std::vector<std::string>&)>;
/// Reads a key at a stop, with its first elements; the content is empty if the type cannot be
/// shown, and the type is "none" if there is no such key.
KeyText read_key(const CallRedis& call, const std::string& key);

/// A key, with what tells whether it has changed.
struct KeyState {
  KeyText text = {};
  std::string content = {};  ///< all of it
  std::optional<std::chrono::milliseconds> expires_at = {};
  std::chrono::milliseconds same_ttl{0};  ///< expiries that differ by no more are the same
};
using KeyStates = std::map<std::string, KeyState>;

/// Looks at all keys in this process.
KeyStates look(const Plan& plan, keyspace::Keyspace& keyspace);
/// Looks at the script's own keys on a server and, unless there are very many keys, at all others.
/// Throws redis::Error.
KeyStates look(const Plan& plan, redis::Connection& connection);
/// Compares two looks: the script's keys in order, changed or not, then other keys that changed.
std::vector<KeyChange> changes(const std::vector<std::string>& keys, const KeyStates& before,
                               const KeyStates& after);

}  // namespace rlctl::cli::debug
