#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rlctl::replay {

/// Numbers for names, from 0 in the order in which they come. A known name is looked up without an
/// allocation. Memory: the bytes of the names, and some 30 for each.
class KeyTable {
 public:
  [[nodiscard]] std::uint32_t number_of(std::string_view name);
  /// Valid as long as this.
  [[nodiscard]] std::string_view name(std::uint32_t number) const { return names_.at(number); }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

 private:
  /// Where a name is looked for; part of its hash spares most comparisons.
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };
  static constexpr std::uint32_t kFree = 0xffffffff;

  [[nodiscard]] std::string_view keep(std::string_view name);
  void grow();

  std::vector<Place> places_;  ///< a power of two of them, at most half taken
  std::vector<std::string_view> names_;
  std::vector<std::unique_ptr<char[]>> blocks_;  ///< with the bytes of the names
  char* free_ = nullptr;                         ///< in the last block
  std::size_t free_bytes_ = 0;
};

}  // namespace rlctl::replay
