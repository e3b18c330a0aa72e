#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace rlctl::test {

/// State as the scripts pack it: a tag, then little-endian fields, eight bytes for a double and
/// four for an integer.
template <typename... Fields>
std::string packed(std::string_view tag, Fields... fields) {
  std::string bytes(tag);
  const auto append = [&](auto field) {
    std::uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<decltype(field)>) {
      bits = std::bit_cast<std::uint64_t>(field);
    } else {
      bits = static_cast<std::uint64_t>(field);
    }
    for (int size = std::is_floating_point_v<decltype(field)> ? 8 : 4; size > 0; --size) {
      bytes.push_back(static_cast<char>(bits & 0xFF));
      bits >>= 8;
    }
  };
  (append(fields), ...);
  return bytes;
}

}  // namespace rlctl::test
