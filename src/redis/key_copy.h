#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/reply.h"

namespace rlctl::redis {

/// A key as DUMP returns it.
struct DumpedKey {
  std::string key = {};
  std::string type = "none";  ///< TYPE's word; "none": there is no such key
  std::string payload = {};   ///< the argument of RESTORE; empty if there is no such key
  std::optional<std::chrono::milliseconds> ttl = {};  ///< none: no expiry, or no such key

  [[nodiscard]] bool exists() const noexcept { return type != "none"; }
};

/// Reads keys at one instant, also from a replica and from a server whose memory is full; writes
/// nothing. Throws Error: the server's if it refuses, kNotNow if others keep writing to the keys.
/// `keys` may be empty.
[[nodiscard]] std::vector<DumpedKey> dump_keys(Connection& connection,
                                               std::span<const std::string> keys);

/// Creates keys from dump_keys(), on a server that has none of the keys. Throws Error: the server's
/// if it refuses one, kUnsupported if it does not understand the format. Before that, it removes
/// those that it has created.
void restore_keys(Connection& connection, std::span<const DumpedKey> dumps);

/// The copy of one key.
struct CopiedKey {
  std::string key = {};
  std::string type = "none";  ///< TYPE's word; "none": there is no such key
  bool operator==(const CopiedKey&) const = default;
};

/// Copies keys as they are at one instant, with their TTLs at that instant; skips keys that do not
/// exist. The source, which may be a replica, is only read; the target must have none of these
/// keys. Copies them in stored form (DUMP) or, if the source's user may not do that or the format
/// is too new for the target, all of them by their contents (GET, HGETALL...), read anew so that
/// they are of one instant as well. In that case TTLs of hash fields are not copied.
///
/// Throws Error: that of either server; kUnsupported, with the key's name, for a stream or a
/// module's type that cannot be copied; kNotNow if others keep writing to the keys.
std::vector<CopiedKey> copy_keys(Connection& from, Connection& to,
                                 std::span<const std::string> keys);

// ---- The parts, for callers that read and write keys in scripts ----

/// The command that reads the contents of a type, without the key, which comes second: LRANGE 0 -1.
/// `last` is the index of the last entry to read of a list or a sorted set; the other types are
/// read as a whole. Empty for a type that only DUMP reads: a stream, a module's.
[[nodiscard]] std::vector<std::string_view> command_to_read(std::string_view type,
                                                            std::string_view last = "-1");
/// Whether the command takes indices.
[[nodiscard]] bool is_read_in_part(std::string_view type);
/// Calls `use` with each command that writes these contents to a key that does not exist.
/// `contents` is the reply to command_to_read(), of which there must be one; a string is one
/// element. No command has more than a thousand words.
void for_each_write(std::string_view type, std::string_view key,
                    std::span<const std::string_view> contents,
                    const std::function<void(Arguments)>& use);
/// Whether RESTORE was refused because the server does not understand the format of the dump.
[[nodiscard]] bool is_foreign_dump(ReplyView refusal);

}  // namespace rlctl::redis
