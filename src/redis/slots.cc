#include "redis/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "redis/error.h"

namespace rlctl::redis {
namespace {

/// The CRC of a byte that this many zero bytes follow.
using CrcTables = std::array<std::array<std::uint16_t, 256>, 4>;

constexpr CrcTables make_crc_tables() {
  constexpr unsigned kPolynomial = 0x1021;
  CrcTables tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8U;
    for (auto& table : tables) {
      for (int bit = 0; bit < 8; ++bit) {
        crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
      }
      table[byte] = static_cast<std::uint16_t>(crc);
    }
  }
  return tables;
}

constexpr CrcTables kCrc = make_crc_tables();

/// Four bytes at a time: byte by byte, it was a sixth of what a Cluster costs the client.
unsigned crc16(std::string_view bytes) noexcept {
  unsigned crc = 0;
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* end = at + bytes.size();
  for (; end - at >= 4; at += 4) {
    crc = static_cast<unsigned>(kCrc[3][(crc >> 8U) ^ at[0]] ^ kCrc[2][(crc & 0xffU) ^ at[1]] ^
                                kCrc[1][at[2]] ^ kCrc[0][at[3]]);
  }
  for (; at != end; ++at) crc = ((crc << 8U) & 0xffffU) ^ kCrc[0][(crc >> 8U) ^ *at];
  return crc;
}

/// Where the keys of a command are.
enum class Place {
  kNowhere,
  kFirst,   ///< the first word after the command
  kSecond,  ///< the word after the subcommand
  kAll,     ///< all words after the command
  kCounted  ///< after a script and a number
};

struct PlaceRow {
  std::string_view command;
  Place place;
};

/// The commands whose keys are not the first word after them.
constexpr auto kPlaces = std::to_array<PlaceRow>({
    {"EVALSHA", Place::kCounted},  {"FCALL", Place::kCounted},   {"EVALSHA_RO", Place::kCounted},
    {"EVAL", Place::kCounted},     {"EVAL_RO", Place::kCounted}, {"MEMORY", Place::kSecond},
    {"OBJECT", Place::kSecond},    {"WATCH", Place::kAll},       {"UNLINK", Place::kAll},
    {"DEL", Place::kAll},          {"EXISTS", Place::kAll},      {"ACL", Place::kNowhere},
    {"CLIENT", Place::kNowhere},   {"CLUSTER", Place::kNowhere}, {"COMMAND", Place::kNowhere},
    {"CONFIG", Place::kNowhere},   {"DBSIZE", Place::kNowhere},  {"EXEC", Place::kNowhere},
    {"FLUSHALL", Place::kNowhere}, {"FLUSHDB", Place::kNowhere}, {"FUNCTION", Place::kNowhere},
    {"HELLO", Place::kNowhere},    {"INFO", Place::kNowhere},    {"KEYS", Place::kNowhere},
    {"MULTI", Place::kNowhere},    {"PING", Place::kNowhere},    {"ROLE", Place::kNowhere},
    {"SCAN", Place::kNowhere},     {"SCRIPT", Place::kNowhere},  {"TIME", Place::kNowhere},
    {"UNWATCH", Place::kNowhere},
});

Place place_of(std::string_view command) noexcept {
  const auto* row = std::find_if(kPlaces.begin(), kPlaces.end(),
                                 [&](const PlaceRow& known) { return known.command == command; });
  return row == kPlaces.end() ? Place::kFirst : row->place;
}

Arguments counted_keys(Arguments command) {
  const auto text = command.size() > 2 ? command[2] : std::string_view();
  const auto count = to_number<std::size_t>(text);
  if (!count || *count > command.size() - 3) {
    throw Error(Failure::kUsage, fmt::format("{}: '{}' is not the number of its keys",
                                             command.front(), escape(text, 40)));
  }
  return command.subspan(3, *count);
}

}  // namespace

std::string_view hashed_part(std::string_view key) noexcept {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

int slot_of(std::string_view key) noexcept {
  return static_cast<int>(crc16(hashed_part(key)) % kSlots);
}

Arguments keys_of(Arguments command) {
  const auto words = command.subspan(1);
  switch (place_of(command.front())) {
    case Place::kNowhere:
      return {};
    case Place::kFirst:
      return words.first(std::min<std::size_t>(words.size(), 1));
    case Place::kSecond:
      return words.size() > 1 ? words.subspan(1, 1) : Arguments();
    case Place::kAll:
      return words;
    case Place::kCounted:
      return counted_keys(command);
  }
  return {};
}

int common_slot(Arguments keys) {
  constexpr std::size_t kMaxKeyBytes = 80;  // bytes of a key
  if (keys.empty()) return -1;
  const int slot = slot_of(keys.front());
  if (keys.size() == 1) return slot;
  for (const auto key : keys.subspan(1)) {
    if (slot_of(key) == slot) continue;
    throw Error(Failure::kUsage,
                fmt::format("'{}' and '{}' are in different slots of the Cluster, so that no "
                            "command can use both",
                            escape(keys.front(), kMaxKeyBytes), escape(key, kMaxKeyBytes)),
                {}, "keys share a slot if they have the same part in braces: {user}:a, {user}:b");
  }
  return slot;
}

}  // namespace rlctl::redis
