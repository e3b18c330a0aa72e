#include "cli/term/style.h"

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

}  // namespace

std::string toned(std::string_view text, Tone tone, bool colour) {
  std::string out;
  if (!colour || tone == Tone::kPlain || text.empty()) return out.append(text);
  return out.append(sequence(tone)).append(text).append(kReset);
}

std::string cut_to_width(std::string_view line, std::size_t columns) {
  std::size_t bytes = 0;
  bool coloured = false;
  while (bytes < line.size()) {
    const auto glyph = glyph_at(line.substr(bytes));
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
