#include "cli/commands/check/top_keys.h"

#include <iterator>
#include <utility>

namespace rlctl::cli::check {

/// The counter of a key that has none yet: a new one, or that of the rarest key, whose count it
/// takes over, since the new key may have been added that often before.
TopKeys::Counters::iterator TopKeys::place_for(std::string_view key) {
  if (by_count_.size() < counters_) {
    return by_count_.emplace(0, Counter{.key = std::string(key)});
  }
  const auto rarest = by_count_.begin();
  by_key_.erase(rarest->second.key);
  rarest->second = {.key = std::string(key), .error = rarest->first};
  return rarest;
}

void TopKeys::add(std::string_view key) {
  key = key.substr(0, kMaxBytes);
  const auto found = by_key_.find(key);
  const auto counter = found == by_key_.end() ? place_for(key) : found->second;
  // Moving the node leaves the key, and the view of it, where they are.
  auto node = by_count_.extract(counter);
  ++node.key();
  const auto moved = by_count_.insert(std::move(node));
  by_key_.insert_or_assign(moved->second.key, moved);
}

std::vector<TopKeys::Entry> TopKeys::top(std::size_t most) const {
  std::vector<Entry> entries;
  for (auto next = by_count_.rbegin(); next != by_count_.rend() && entries.size() < most; ++next) {
    entries.push_back({.key = next->second.key, .count = next->first, .error = next->second.error});
  }
  return entries;
}

}  // namespace rlctl::cli::check
