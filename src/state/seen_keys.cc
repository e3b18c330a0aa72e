#include "state/seen_keys.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rlctl::state {

bool SeenKeys::add(std::string_view key) {
  if (2 * (count_ + 1) > places_.size()) grow();
  const std::uint64_t hash = std::max<std::uint64_t>(std::hash<std::string_view>{}(key), 1);
  auto& place = place_of(hash);
  if (place == hash) return false;
  place = hash;
  ++count_;
  return true;
}

/// Where the hash is, or belongs.
std::uint64_t& SeenKeys::place_of(std::uint64_t hash) {
  const auto mask = places_.size() - 1;
  auto at = hash & mask;
  while (places_[at] != 0 && places_[at] != hash) at = (at + 1) & mask;
  return places_[at];
}

void SeenKeys::grow() {
  constexpr std::size_t kFirst = 1024;
  const auto before =
      std::exchange(places_, std::vector<std::uint64_t>(std::max(kFirst, 2 * places_.size())));
  for (const auto hash : before) {
    if (hash != 0) place_of(hash) = hash;
  }
}

}  // namespace rlctl::state
