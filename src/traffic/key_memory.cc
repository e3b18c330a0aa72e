#include "traffic/key_memory.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace rlctl::traffic {
namespace {

/// Keys that are asked about in one write.
constexpr std::size_t kKeysAtOnce = 512;

/// By OBJECT ENCODING. The levels of a skip list are thrown, and a hash table grows when the server
/// has time for it.
bool is_by_chance(redis::ReplyView encoding) {
  return encoding.type() == redis::ReplyType::kString &&
         (encoding.text() == "skiplist" || encoding.text() == "hashtable");
}

}  // namespace

std::optional<double> bytes_per_key(redis::Connection& connection,
                                    std::span<const std::string> keys, Sizes sizes) {
  std::int64_t bytes = 0, there = 0;
  bool by_chance = false;
  while (!keys.empty()) {
    const auto lot = keys.first(std::min(kKeysAtOnce, keys.size()));
    for (const auto& key : lot) {
      connection.append({"MEMORY", "USAGE", key, "SAMPLES", "0"});
      if (sizes == Sizes::kRepeatable) connection.append({"OBJECT", "ENCODING", key});
    }
    for (std::size_t i = 0; i < lot.size(); ++i) {
      const auto usage = connection.read();
      if (sizes == Sizes::kRepeatable && is_by_chance(connection.read())) by_chance = true;
      if (usage.type() != redis::ReplyType::kInteger) continue;  // expired, or not permitted
      bytes += usage.integer();
      ++there;
    }
    keys = keys.subspan(lot.size());
  }
  if (there == 0 || by_chance) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(there);
}

}  // namespace rlctl::traffic
