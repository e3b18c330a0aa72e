#include "base/utf8.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rlctl {
namespace {

/// Of the character at the front of `text`, in bytes; 0 where it is none (RFC 3629).
std::size_t character_size(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2   ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || text.size() < size) return 0;
  // No longer form than needed, no surrogates, nothing above U+10FFFF.
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return size;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void append_json_utf8(std::string& out, std::string_view text) {
  while (!text.empty()) {
    if (const auto size = character_size(text); size > 0) {
      out.append(text.substr(0, size));
      text.remove_prefix(size);
      continue;
    }
    fmt::format_to(std::back_inserter(out), "\\\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(1);
  }
}

}  // namespace rlctl
