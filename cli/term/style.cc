#include "cli/term/style.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace rlctl::cli {
namespace {

constexpr std::string_view kReset = "\033[0m";

std::string_view sequence(Tone tone) {
  switch (tone) {
    case Tone::kLabel:
      return "\033[1m";
    case Tone::kDim:
      return "\033[2m";
    case Tone::kGood:
      return "\033[32m";
    case Tone::kWarning:
      return "\033[33m";
    case Tone::kBad:
      return "\033[31m";
    case Tone::kPlain:
      break;
  }
  return {};
}

struct Range {
  char32_t first, last;
};

// The blocks that matter for names; a whole table of Unicode would change nothing for them.
constexpr Range kNoColumn[] = {
    {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr Range kTwoColumns[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97C}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <std::size_t n>
bool is_in(const Range (&ranges)[n], char32_t character) {
  return std::any_of(std::begin(ranges), std::end(ranges), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

/// Of well-formed UTF-8, one character.
char32_t decode(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t value = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) value = value << 6 | (byte(i) & 0x3FU);
  return value;
}

/// What stands at the start of a text: a colour's sequence, which takes no column, or a character.
struct Glyph {
  std::size_t bytes = 0, columns = 0;
};

Glyph first_glyph(std::string_view text) {
  if (text.starts_with("\033[")) return {.bytes = std::min(text.find('m'), text.size() - 1) + 1};
  const auto length = utf8_length(text);
  if (length <= 1) return {.bytes = 1, .columns = 1};
  const auto character = decode(text.substr(0, length));
  const std::size_t columns = is_in(kNoColumn, character)     ? 0
                              : is_in(kTwoColumns, character) ? 2
                                                              : 1;
  return {.bytes = length, .columns = columns};
}

}  // namespace

std::string toned(std::string_view text, Tone tone, bool colour) {
  std::string out;
  if (!colour || tone == Tone::kPlain || text.empty()) return out.append(text);
  return out.append(sequence(tone)).append(text).append(kReset);
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

std::string cut_to_width(std::string_view line, std::size_t columns) {
  std::size_t bytes = 0;
  bool coloured = false;
  while (bytes < line.size()) {
    const auto glyph = first_glyph(line.substr(bytes));
    if (glyph.columns > columns) break;
    if (line[bytes] == '\033') coloured = line.substr(bytes, glyph.bytes) != kReset;
    columns -= glyph.columns;
    bytes += glyph.bytes;
  }
  std::string out(line.substr(0, bytes));
  if (coloured) out += kReset;
  return out;
}

void pad(std::string& out, std::size_t used, std::size_t columns) {
  if (used < columns) out.append(columns - used, ' ');
}

}  // namespace rlctl::cli
