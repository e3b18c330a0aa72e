#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rlctl::state {

/// A set of keys, of which it keeps only hashes: 16 to 32 bytes a key, and up to 48 while it grows.
/// Of a hundred million keys, one is taken for another with a probability of 1 in 3,000.
class SeenKeys {
 public:
  /// Returns false if the key is in the set already.
  bool add(std::string_view key);

 private:
  void grow();
  [[nodiscard]] std::uint64_t& place_of(std::uint64_t hash);

  std::vector<std::uint64_t> places_;  ///< 0: empty; their number is a power of two
  std::size_t count_ = 0;
};

}  // namespace rlctl::state
