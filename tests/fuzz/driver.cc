#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "fuzz/fuzz.h"

namespace fuzz {

void require(bool holds, const char* property, std::string_view shown) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  if (!shown.empty())
    std::fwrite(shown.data(), 1, std::min<std::size_t>(shown.size(), 2000), stderr);
  std::fputs("\n", stderr);
  std::abort();
}

std::string_view Parts::until(char end) {
  const auto size = std::min(rest_.find(end), rest_.size());
  const auto part = rest_.substr(0, size);
  rest_.remove_prefix(std::min(size + 1, rest_.size()));
  return part;
}

unsigned Parts::choice(unsigned most) {
  if (rest_.empty()) return 0;
  const auto byte = static_cast<unsigned char>(rest_.front());
  rest_.remove_prefix(1);
  return (byte >= '0' ? byte - '0' : byte) % (most + 1);
}

std::int64_t Parts::number() {
  const auto text = until('\n');
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec == std::errc() && result.ptr == end) return number;
  return static_cast<std::int64_t>(std::hash<std::string_view>()(text));
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7f;
  });
}

bool has_control_character(std::string_view text) {
  // U+0080 to U+009F; U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const auto two = text.substr(i, 2);
    const auto third = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0U;
    if (two[0] == '\xc2' && static_cast<unsigned char>(two[1]) < 0xa0) return true;
    if (two == "\xd8\x9c") return true;
    if (two == "\xe2\x80" && (third == 0x8e || third == 0x8f || (third >= 0xaa && third <= 0xae))) {
      return true;
    }
    if (two == "\xe2\x81" && third >= 0xa6 && third <= 0xa9) return true;
  }
  return has_control(text);
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Of the processor, so that other programs do not count. Most inputs take less than 30 ms.
  constexpr std::clock_t kLongest = 2 * CLOCKS_PER_SEC;
  const auto start = std::clock();
  fuzz::test({reinterpret_cast<const char*>(data), size});
  fuzz::require(std::clock() - start <= kLongest, "no input takes longer than 2 s");
  return 0;
}
