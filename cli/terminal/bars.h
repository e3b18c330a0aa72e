#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::cli {

/// The characters of charts, in UTF-8 or in ASCII.
struct Glyphs {
  std::array<std::string_view, 9> bars;     ///< for bars of one row: nothing, and eight levels
  std::array<std::string_view, 9> heights;  ///< fill levels of a cell, for charts with several rows
  std::array<std::string_view, 9> denied;   ///< levels of denied requests
  std::string_view nothing;                 ///< for a time without requests
  std::string_view full, empty;             ///< parts of a gauge
  std::string_view side, line, crossing, corner, tick, end, times;
};
inline constexpr std::int64_t kGlyphLevels = 8;
const Glyphs& glyphs(bool utf8);

/// A row of bars with a common scale, one column each. The highest is full; zero is a dot, to
/// distinguish none from few. Without UTF-8, uses shades of ASCII characters.
std::string bars_text(std::span<const std::int64_t> counts, bool utf8);

/// The number of parts into which to divide a window if at most `columns` of them fit: the most
/// whose width is round, such as 1 s, 5 min or 12 h; `columns` if no round width divides the
/// window.
int bars_for(std::chrono::microseconds window, std::size_t columns);

/// A bar of `columns` columns, filled to `share`, 0 to 1; it looks full or empty only at 1 or 0.
std::string gauge_text(double share, std::size_t columns, bool utf8);

/// A time span divided into columns of equal, round width, for a chart.
struct TimeAxis {
  std::chrono::microseconds from{0}, to{0};
  std::size_t columns = 1;
  /// The time to which the ticks are relative: if the span contains exactly one window edge, which
  /// then is the subject of the chart, that edge; else the beginning of the first window.
  std::chrono::microseconds origin{0};
  bool is_about_edge = false;
  /// For recorded traffic, the instant of time 0: columns and ticks are at round times of day, and
  /// ticks are dates and times, all in UTC.
  std::optional<std::chrono::microseconds> recorded_at = {};

  bool operator==(const TimeAxis&) const = default;
};

/// The axis for events from `begin` to `end`, with at most `most_columns` columns (at least 2).
/// Windows begin at multiples of `window` since 1970, as in fixed-window. Columns begin at
/// multiples of their width from `zero`: by default the origin or, of recorded traffic, 1970.
TimeAxis make_time_axis(std::chrono::microseconds begin, std::chrono::microseconds end,
                        std::chrono::microseconds window, std::size_t most_columns,
                        std::optional<std::chrono::microseconds> recorded_at = {},
                        std::optional<std::chrono::microseconds> zero = {});
/// The width of a column.
std::chrono::microseconds column_width(const TimeAxis& axis);

/// A labelled place on an axis.
struct Tick {
  double at = 0;     ///< in columns, from the beginning
  std::string text;  ///< empty if it does not fit
};

/// The position of a time, in columns from the beginning.
double place_of(const TimeAxis& axis, std::chrono::microseconds time);

/// The beginning, the edges of windows (of recorded traffic, round times), and the end, in order;
/// only some edges, evenly spaced, if there are many. The text of the first tick begins there, that
/// of the last ends there, and the others are centred; `letters` of them fit along the axis.
std::vector<Tick> ticks_of(const TimeAxis& axis, std::chrono::microseconds window,
                           std::size_t letters);
/// The position of the first letter of a tick's text, from 0 to `letters`.
std::size_t text_begin(const TimeAxis& axis, const Tick& tick, std::size_t letters);

/// The width of a column: "400 µs".
std::string column_text(const TimeAxis& axis);

}  // namespace rlctl::cli
