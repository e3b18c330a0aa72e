#include "cli/time_axis.h"

#include <algorithm>
#include <utility>

#include "cli/bars.h"
#include "cli/duration_text.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;

/// More edges than this in an axis would be a comb.
constexpr std::int64_t kMostTicks = 6;
/// A window of fewer bins than this is not to be seen in them.
constexpr std::int64_t kBinsOfWindow = 8;

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

double place_of(const TimeAxis& axis, microseconds time) {
  return static_cast<double>((time - axis.from).count()) /
         static_cast<double>((axis.to - axis.from).count()) * static_cast<double>(axis.columns);
}

}  // namespace

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

std::vector<std::int64_t> allowed_within_window(const traffic::Timeline& timeline,
                                                const TimeAxis& axis, microseconds window) {
  const auto in_window = static_cast<std::size_t>(window / timeline.width());
  const auto& bins = timeline.bins();
  if (window / timeline.width() < kBinsOfWindow) return {};
  constexpr std::int64_t kNone = -1;
  std::vector<std::int64_t> columns(axis.columns, kNone);  // the most in each
  std::vector<std::int64_t> left(axis.columns, kNone);     // at its end
  std::int64_t sum = 0;
  const auto show = [&](std::size_t bin) {
    const auto first = timeline.begin() + timeline.width() * static_cast<std::int64_t>(bin);
    auto last = first + timeline.width() - microseconds{1};
    if (bin + 1 == bins.size()) last = std::min(last, timeline.end());
    const auto middle = first + (last - first) / 2;
    if (middle >= axis.to) return false;
    const auto place = static_cast<std::int64_t>(place_of(axis, middle));
    const auto column =
        static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, std::ssize(columns) - 1));
    columns[column] = std::max(columns[column], sum);
    left[column] = sum;
    return true;
  };
  for (std::size_t i = 0; i < bins.size(); ++i) {
    sum += bins[i].allowed;
    if (i >= in_window) sum -= bins[i - in_window].allowed;
    if (!show(i)) break;
  }
  // What came last leaves the window, too; between the two nothing changes.
  for (auto i = std::max(in_window, bins.size()); i - in_window < bins.size(); ++i) {
    sum -= bins[i - in_window].allowed;
    if (!show(i)) break;
  }
  // A column without a bin of its own shows what was left before it.
  std::int64_t before = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == kNone) columns[i] = before;
    if (left[i] != kNone) before = left[i];
  }
  return columns;
}

}  // namespace rlctl::cli
