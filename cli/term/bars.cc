#include "cli/term/bars.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/time.h"

namespace rlctl::cli {
namespace {

constexpr Glyphs kUtf8{.bars = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                       .heights = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                       .denied = {"·", "░", "░", "░", "▒", "▒", "▒", "▓", "▓"},
                       .nothing = "·",
                       .full = "█",
                       .empty = "░",
                       .side = "│",
                       .line = "─",
                       .crossing = "├",
                       .corner = "└",
                       .tick = "┴",
                       .end = "┘",
                       .times = "×"};
constexpr Glyphs kAscii{.bars = {".", ":", "-", "=", "+", "*", "#", "%", "@"},
                        .heights = {" ", "_", "_", ".", "-", "=", "+", "*", "#"},
                        .denied = {".", "x", "x", "x", "x", "X", "X", "X", "X"},
                        .nothing = ".",
                        .full = "#",
                        .empty = "-",
                        .side = "|",
                        .line = "-",
                        .crossing = "+",
                        .corner = "+",
                        .tick = "+",
                        .end = "+",
                        .times = "x"};

/// 0 for none alone, kGlyphLevels for the highest.
std::size_t level(std::int64_t count, std::int64_t highest) {
  if (count <= 0) return 0;
  const auto share = static_cast<double>(count) / static_cast<double>(highest);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::llround(share * kGlyphLevels), 1, kGlyphLevels));
}

/// How many digits a duration has, zeros at its end apart, in the unit in which it is shortest.
std::size_t digits_of(std::chrono::microseconds duration) {
  const auto text = format_duration(duration);
  const std::string_view digits(text.data(), text.find_first_not_of("0123456789"));
  return digits.find_last_not_of('0') + 1;
}

void repeat(std::string& out, std::string_view text, std::size_t times) {
  for (; times > 0; --times) out += text;
}

}  // namespace

const Glyphs& glyphs(bool utf8) {
  return utf8 ? kUtf8 : kAscii;
}

std::string bars_text(std::span<const std::int64_t> counts, bool utf8) {
  std::string out;
  if (counts.empty()) return out;
  const auto highest = *std::max_element(counts.begin(), counts.end());
  for (const auto count : counts) out += glyphs(utf8).bars[level(count, highest)];
  return out;
}

int bars_for(std::chrono::microseconds window, std::size_t columns) {
  const auto most = static_cast<std::int64_t>(columns);
  std::int64_t best = most;
  std::size_t fewest = std::string::npos;
  for (auto parts = most; parts > 0 && parts >= most / 2; --parts) {
    if (window.count() % parts != 0) continue;
    const auto digits = digits_of(window / parts);
    if (digits >= fewest) continue;
    fewest = digits;
    best = parts;
  }
  return static_cast<int>(best);
}

std::string gauge_text(double share, std::size_t columns, bool utf8) {
  const auto all = static_cast<double>(columns);
  double filled = std::round(std::clamp(share, 0.0, 1.0) * all);
  if (share > 0 && share < 1 && columns > 1) filled = std::clamp(filled, 1.0, all - 1);
  const auto full = static_cast<std::size_t>(filled);
  std::string out;
  repeat(out, glyphs(utf8).full, full);
  repeat(out, glyphs(utf8).empty, columns - full);
  return out;
}

}  // namespace rlctl::cli
