#include "cli/burst/scale.h"

#include <algorithm>

namespace rlctl::cli {

using std::chrono::microseconds;

namespace {

/// A window of fewer bins than this is not to be seen in them.
constexpr std::int64_t kBinsOfWindow = 8;

std::int64_t units_in(const traffic::Timeline& departures) {
  std::int64_t units = 0;
  for (const auto& bin : departures.bins()) units += bin.allowed;
  return units;
}

}  // namespace

BurstScale scale_of(const BurstReport& report) {
  const auto& limit = report.limits.front();
  const auto keys = traffic_keys(report);
  BurstScale scale{.window = limit.window, .has_chart = report.pattern || keys == 1};
  scale.limit = scale.has_chart ? limit.limit * keys : limit.limit;
  const bool has_edges = report.pattern && (!report.real || report.pattern->first_in_window);
  bool first = true;
  for (const auto& run : report.runs) {
    const auto& outcome = run.outcome;
    scale.most = std::max(
        scale.most, keys == 1 ? outcome.measured.worst.allowed : units_in(outcome.departures));
    if (outcome.measured.sent == 0) continue;
    const auto& timeline = outcome.timeline;
    const auto begin = timeline.begin() - run.begin;
    scale.begin = first ? begin : std::min(scale.begin, begin);
    scale.end = std::max(scale.end, timeline.end() - run.begin);
    first = false;
  }
  if (!has_edges) scale.begin = std::min(scale.begin, microseconds{0});
  return scale;
}

TimeAxis axis_of(const BurstScale& scale, std::size_t most_columns) {
  return make_time_axis(scale.begin, scale.end, scale.window, most_columns);
}

TimeAxis axis_of_run(const TimeAxis& axis, const BurstRun& run) {
  auto own = axis;
  own.from += run.begin;
  own.to += run.begin;
  own.origin += run.begin;
  return own;
}

std::vector<traffic::Timeline::Bin> columns_of(const BurstRun& run, const TimeAxis& axis) {
  const auto own = axis_of_run(axis, run);
  return run.outcome.timeline.resampled(own.from, own.to - std::chrono::microseconds{1},
                                        own.columns);
}

std::vector<std::int64_t> within_window_of(const BurstRun& run, const TimeAxis& axis,
                                           const BurstScale& scale) {
  if (!scale.has_chart) return {};
  return allowed_within_window(run.outcome.departures, axis_of_run(axis, run), scale.window);
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
