#include "cli/term/time_axis.h"

#include <algorithm>
#include <utility>

#include "base/time.h"
#include "cli/term/bars.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

/// More edges than this in an axis would be a comb.
constexpr std::int64_t kMostTicks = 6;
/// The largest power of ten of which there are ten or more in the span.
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
