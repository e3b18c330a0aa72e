#include "base/sha1.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rlctl {
namespace {

using Digest = std::array<std::uint32_t, 5>;
constexpr std::size_t kBlock = 64;

std::uint32_t word_at(std::string_view block, std::size_t offset) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = word << 8U | static_cast<unsigned char>(block[offset + i]);
  }
  return word;
}

void add_block(Digest& digest, std::string_view block) {
  std::array<std::uint32_t, 80> schedule{};
  for (std::size_t i = 0; i < 16; ++i) schedule[i] = word_at(block, 4 * i);
  for (std::size_t i = 16; i < 80; ++i) {
    schedule[i] =
        std::rotl(schedule[i - 3] ^ schedule[i - 8] ^ schedule[i - 14] ^ schedule[i - 16], 1);
  }
  auto [a, b, c, d, e] = digest;
  for (std::size_t i = 0; i < 80; ++i) {
    const auto [mix, constant] = i < 20   ? std::pair((b & c) | (~b & d), 0x5a827999U)
                                 : i < 40 ? std::pair(b ^ c ^ d, 0x6ed9eba1U)
                                 : i < 60 ? std::pair((b & c) | (b & d) | (c & d), 0x8f1bbcdcU)
                                          : std::pair(b ^ c ^ d, 0xca62c1d6U);
    const auto next = std::rotl(a, 5) + mix + e + constant + schedule[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  digest = {digest[0] + a, digest[1] + b, digest[2] + c, digest[3] + d, digest[4] + e};
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  Digest digest{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
  const auto whole = text.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) add_block(digest, text.substr(at, kBlock));
  // The rest ends with a bit of 1, zeros, and the length in bits.
  std::string rest(text.substr(whole));
  rest += '\x80';
  while (rest.size() % kBlock != kBlock - 8) rest += '\0';
  const auto bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) rest += static_cast<char>(bits >> shift & 0xffU);
  for (std::size_t at = 0; at < rest.size(); at += kBlock) {
    add_block(digest, std::string_view(rest).substr(at, kBlock));
  }
  std::string hex;
  for (const auto word : digest) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace rlctl
