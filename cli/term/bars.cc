#include "cli/term/bars.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace rlctl::cli {

// ---- Bars ----

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

/// 0 only for a count of 0, kGlyphLevels for the highest.
std::size_t level(std::int64_t count, std::int64_t highest) {
  if (count <= 0) return 0;
  const auto share = static_cast<double>(count) / static_cast<double>(highest);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::llround(share * kGlyphLevels), 1, kGlyphLevels));
}

/// The number of digits of a duration in its shortest unit, without trailing zeros.
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

// ---- Axes of time ----

namespace {

using std::chrono::microseconds;

/// The maximum number of window edges that an axis marks.
constexpr std::int64_t kMostTicks = 6;
/// The largest power of ten that fits into the span at least ten times.
microseconds rounding_of(microseconds span) {
  microseconds unit{1};
  while (span >= unit * 100) unit *= 10;
  return unit;
}

microseconds round_down(microseconds time, microseconds unit) {
  const auto past = time % unit;
  return time - past - (past.count() < 0 ? unit : microseconds{0});
}

microseconds round_up(microseconds time, microseconds unit) {
  return -round_down(-time, unit);
}

}  // namespace

double place_of(const TimeAxis& axis, microseconds time) {
  return static_cast<double>((time - axis.from).count()) /
         static_cast<double>((axis.to - axis.from).count()) * static_cast<double>(axis.columns);
}

TimeAxis make_time_axis(microseconds begin, microseconds end, microseconds window,
                        std::size_t most_columns) {
  TimeAxis axis;
  const auto first_window = round_down(begin, window);
  axis.is_about_edge = end - begin < window && end >= first_window + window;
  axis.origin = axis.is_about_edge ? first_window + window : first_window;
  const auto unit = rounding_of(end - begin);
  axis.from = axis.origin + round_down(begin - axis.origin, unit);
  axis.to = axis.origin + round_up(end + microseconds{1} - axis.origin, unit);
  const auto span = axis.to - axis.from;
  const auto most = std::min(static_cast<std::int64_t>(most_columns), span.count());
  axis.columns = static_cast<std::size_t>(
      bars_for(span, static_cast<std::size_t>(std::max<std::int64_t>(most, 1))));
  return axis;
}

std::vector<Tick> ticks_of(const TimeAxis& axis, microseconds window) {
  std::vector<Tick> ticks;
  ticks.push_back({0, offset_text(axis.from - axis.origin)});
  const auto edges = (axis.to - axis.from) / window;
  const auto step = window * std::max<std::int64_t>(1, (edges + kMostTicks - 1) / kMostTicks);
  auto edge = axis.is_about_edge ? axis.origin : axis.origin + step;
  while (edge <= axis.from) edge += step;
  for (; edge < axis.to; edge += step) {
    ticks.push_back({place_of(axis, edge),
                     axis.is_about_edge ? "edge of a window" : offset_text(edge - axis.origin)});
  }
  ticks.push_back({static_cast<double>(axis.columns), offset_text(axis.to - axis.origin)});
  return ticks;
}

std::string column_text(const TimeAxis& axis) {
  const auto columns = static_cast<std::int64_t>(axis.columns);
  const auto width = (axis.to - axis.from) / columns;
  const bool exact = width * columns == axis.to - axis.from;
  return (exact ? "" : "about ") + span_text(width);
}

}  // namespace rlctl::cli
