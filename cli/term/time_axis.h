#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rlctl::cli {

/// A stretch of time cut into columns of one width, for a picture. Its ends and, where that can be,
/// its columns are round numbers.
struct TimeAxis {
  std::chrono::microseconds from{0}, to{0};
  std::size_t columns = 1;
  /// What times are told from: the edge of a window where just one lies inside, so that all is
  /// about that edge; else the beginning of the window in which it begins.
  std::chrono::microseconds origin{0};
  bool is_about_edge = false;

  bool operator==(const TimeAxis&) const = default;
};

/// The axis of what happened from `begin` to `end`, where at most so many columns fit (at least 1).
/// Windows begin at multiples of `window` since 1970, as fixed-window has them.
[[nodiscard]] TimeAxis make_time_axis(std::chrono::microseconds begin,
                                      std::chrono::microseconds end,
                                      std::chrono::microseconds window, std::size_t most_columns);

/// A place on an axis that has a name.
struct Tick {
  double at = 0;  ///< in columns, from the beginning
  std::string text;
};

/// Where a time lies, in columns from the beginning.
[[nodiscard]] double place_of(const TimeAxis& axis, std::chrono::microseconds time);

/// The beginning, the edges of windows, and the end; where there are many edges only some of them,
/// evenly. In the order of their places.
[[nodiscard]] std::vector<Tick> ticks_of(const TimeAxis& axis, std::chrono::microseconds window);

/// How wide a column is: "400 us".
[[nodiscard]] std::string column_text(const TimeAxis& axis);

}  // namespace rlctl::cli
