#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "redis/connection.h"

namespace rlctl::redis {

/// A key as DUMP tells it.
struct DumpedKey {
  std::string key = {};
  std::string type = "none";  ///< TYPE's word; "none": there is no such key
  std::string payload = {};   ///< what RESTORE takes; empty if there is no such key
  std::optional<std::chrono::milliseconds> ttl = {};  ///< none: it stays for ever, or is not there

  [[nodiscard]] bool exists() const noexcept { return type != "none"; }
};

/// Reads keys at one instant; on a replica too. Reads only. Throws Error, that of the server where
/// it refuses. `keys` may be none.
[[nodiscard]] std::vector<DumpedKey> dump_keys(Connection& connection,
                                               std::span<const std::string> keys);

/// Makes keys of what dump_keys() told, on a server that understands it and has none of them.
/// Throws Error, that of the server where it refuses.
void restore_keys(Connection& connection, std::span<const DumpedKey> dumps);

/// What was copied of one key.
struct CopiedKey {
  std::string key = {};
  std::string type = "none";  ///< TYPE's word; "none": there is no such key
  bool operator==(const CopiedKey&) const = default;
};

/// Copies keys as they are at one instant, with their TTLs as they are then; of a key that is not
/// there nothing is made. The source, which may be a replica, is only read; at the target there
/// must be none of these keys. As they are stored (DUMP), or, where the source's user may not have
/// that, or its format is too new for the target, by what is in them (GET, HGETALL...): all of them
/// anew, so that they are of one instant as well. Of a hash's fields TTLs are not copied then.
///
/// Throws Error: that of either server; kUnsupported, with the key's name, for a stream or a
/// module's type that cannot be copied; kNotNow where others keep changing what keys are.
std::vector<CopiedKey> copy_keys(Connection& from, Connection& to,
                                 std::span<const std::string> keys);

}  // namespace rlctl::redis
