#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::cli {

/// The characters of charts, in UTF-8 or in ASCII.
struct Glyphs {
  std::array<std::string_view, 9> bars;  ///< in one row: nothing, and eight levels
  std::array<std::string_view, 9>
      heights;                             ///< how much of a cell is filled, in charts of many rows
  std::array<std::string_view, 9> denied;  ///< how many
  std::string_view nothing;                ///< at a time without any requests
  std::string_view full, empty;            ///< parts of a gauge
  std::string_view side, line, crossing, corner, tick, end, times;
};
inline constexpr std::int64_t kGlyphLevels = 8;
[[nodiscard]] const Glyphs& glyphs(bool utf8);

/// A row of bars on one scale, the highest full; a point for zero, so that none and few differ.
/// Each takes one column. Without UTF-8 shades of ASCII.
[[nodiscard]] std::string bars_text(std::span<const std::int64_t> counts, bool utf8);

/// The number of parts to cut a window into if `columns` of them fit: as many as fit, or down to
/// half as many if that makes a part a rounder number (60 s in 60 parts of 1 s, not in 69).
[[nodiscard]] int bars_for(std::chrono::microseconds window, std::size_t columns);

/// A bar of `columns` columns that is filled to `share`, 0 to 1; it looks full or empty only if it
/// is.
[[nodiscard]] std::string gauge_text(double share, std::size_t columns, bool utf8);

/// A span of time cut into columns of one width, for a chart. Its ends and, if possible, its
/// columns are round numbers.
struct TimeAxis {
  std::chrono::microseconds from{0}, to{0};
  std::size_t columns = 1;
  /// The time to which the ticks are relative: the edge of a window if just one lies inside, which
  /// then is what the chart is about; else the beginning of the window in which it begins.
  std::chrono::microseconds origin{0};
  bool is_about_edge = false;

  bool operator==(const TimeAxis&) const = default;
};

/// The axis for events from `begin` to `end`, with at most `most_columns` columns (at least 1).
/// Windows begin at multiples of `window` since 1970, as fixed-window has them.
[[nodiscard]] TimeAxis make_time_axis(std::chrono::microseconds begin,
                                      std::chrono::microseconds end,
                                      std::chrono::microseconds window, std::size_t most_columns);

/// A place on an axis that has a name.
struct Tick {
  double at = 0;  ///< in columns, from the beginning
  std::string text;
};

/// The place of a time, in columns from the beginning.
[[nodiscard]] double place_of(const TimeAxis& axis, std::chrono::microseconds time);

/// The beginning, the edges of windows, and the end; of many edges only some, evenly spaced. In the
/// order of their places.
[[nodiscard]] std::vector<Tick> ticks_of(const TimeAxis& axis, std::chrono::microseconds window);

/// How wide a column is: "400 us".
[[nodiscard]] std::string column_text(const TimeAxis& axis);

}  // namespace rlctl::cli
