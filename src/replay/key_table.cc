#include "replay/key_table.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace rlctl::replay {
namespace {

constexpr std::size_t kFirstPlaces = 1024;
constexpr std::size_t kBlock = std::size_t{1} << 16;

}  // namespace

std::uint32_t KeyTable::number_of(std::string_view name) {
  if (names_.size() * 2 >= places_.size()) grow();
  const auto hash = std::hash<std::string_view>{}(name);
  const auto mask = places_.size() - 1;
  const auto part = static_cast<std::uint32_t>(hash >> 32);
  for (auto at = hash & mask;; at = (at + 1) & mask) {
    auto& place = places_[at];
    if (place.number == kFree) {
      if (names_.size() >= kFree) throw std::length_error("more than 4294967295 keys");
      place = {part, static_cast<std::uint32_t>(names_.size())};
      names_.push_back(keep(name));
      return place.number;
    }
    if (place.hash == part && names_[place.number] == name) return place.number;
  }
}

std::string_view KeyTable::keep(std::string_view name) {
  if (name.size() > free_bytes_) {
    const auto size = std::max(kBlock, name.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    free_ = blocks_.back().get();
    free_bytes_ = size;
  }
  const std::string_view kept(free_, name.size());
  std::copy(name.begin(), name.end(), free_);
  free_ += name.size();
  free_bytes_ -= name.size();
  return kept;
}

void KeyTable::grow() {
  places_.assign(std::max(kFirstPlaces, 2 * places_.size()), {});
  const auto mask = places_.size() - 1;
  for (std::uint32_t number = 0; number < names_.size(); ++number) {
    const auto hash = std::hash<std::string_view>{}(names_[number]);
    auto at = hash & mask;
    while (places_[at].number != kFree) at = (at + 1) & mask;
    places_[at] = {static_cast<std::uint32_t>(hash >> 32), number};
  }
}

}  // namespace rlctl::replay
