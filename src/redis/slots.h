#pragma once

#include <string_view>

#include "redis/link.h"

namespace rlctl::redis {

/// The number of hash slots of a Cluster.
inline constexpr int kSlots = 16384;

/// What decides a key's slot: its hash tag, between its first { and the next }, or all of it if
/// that is empty or missing.
/// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
[[nodiscard]] std::string_view hashed_part(std::string_view key) noexcept;

/// The slot of a key: CRC16 (XMODEM) of that part.
[[nodiscard]] int slot_of(std::string_view key) noexcept;

/// The keys among the words of a command that this program sends; empty if the command has none.
/// Throws Error(kUsage) if the word that counts the keys of EVALSHA, FCALL or the like is not a
/// number, or is more than the words that follow.
[[nodiscard]] Arguments keys_of(Arguments command);

/// The slot of these keys; -1 if there are none. Throws Error(kUsage) if their slots differ: no
/// node would accept the command.
[[nodiscard]] int common_slot(Arguments keys);

}  // namespace rlctl::redis
