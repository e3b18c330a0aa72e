#include "cli/commands/burst/picture.h"

#include <algorithm>

#include "cli/commands/burst/report.h"
#include "traffic/pattern.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;

/// Bins are too coarse if a window has fewer than this many.
constexpr std::int64_t kBinsOfWindow = 8;

}  // namespace

bool draws_one_key(const Report& report) {
  return report.plan.pattern && traffic_keys(report) > 1;
}

Scale scale_of(const Report& report) {
  const auto& limit = report.plan.limits.front();
  Scale scale{
      .window = limit.window,
      .limit = limit.limit,
      .has_chart = (report.plan.pattern || traffic_keys(report) == 1) && !has_refunds(report)};
  const bool has_edges =
      report.is_search ||
      (report.plan.pattern && (!report.plan.real || report.plan.pattern->first_in_window));
  bool first = true;
  for (const auto& run : report.runs) {
    const auto& outcome = run.outcome;
    scale.most = std::max(scale.most, outcome.measured.worst.allowed);
    if (outcome.measured.sent == 0) continue;
    const auto& timeline = outcome.timeline;
    const auto begin = timeline.begin() - run.begin;
    scale.begin = first ? begin : std::min(scale.begin, begin);
    // A request that is allowed with a delay goes on after the last request.
    const auto end = std::max(timeline.end(), outcome.departures.end());
    scale.end = std::max(scale.end, end - run.begin);
    scale.zero = timeline.zero() - run.begin;  // the same for all runs
    first = false;
  }
  // A schedule may be a single instant.
  if (report.is_search) scale.end = std::max(scale.end, scale.begin + scale.window);
  if (shows_dates(report)) scale.recorded_at = report.recording->first();
  if (!has_edges) scale.begin = std::min(scale.begin, microseconds{0});
  return scale;
}

TimeAxis axis_of(const Scale& scale, std::size_t most_columns) {
  return make_time_axis(scale.begin, scale.end, scale.window, most_columns, scale.recorded_at,
                        scale.zero);
}

TimeAxis axis_of_run(const TimeAxis& axis, const Run& run) {
  auto own = axis;
  own.from += run.begin;
  own.to += run.begin;
  own.origin += run.begin;
  return own;
}

std::vector<traffic::Timeline::Bin> columns_of(const Run& run, const TimeAxis& axis) {
  const auto own = axis_of_run(axis, run);
  return run.outcome.timeline.columns(own.from, column_width(own), own.columns);
}

std::vector<std::int64_t> within_window_of(const Run& run, const TimeAxis& axis,
                                           const Scale& scale) {
  if (!scale.has_chart) return {};
  return allowed_within_window(run.outcome.departures, axis_of_run(axis, run), scale.window);
}

std::vector<std::int64_t> allowed_within_window(const traffic::Timeline& timeline,
                                                const TimeAxis& axis, microseconds window) {
  const auto width = column_width(axis);
  const auto in_window = static_cast<std::size_t>(window / timeline.width());
  const auto& bins = timeline.bins();
  if (window / timeline.width() < kBinsOfWindow) return {};
  constexpr std::int64_t kNone = -1;
  std::vector<std::int64_t> columns(axis.columns, kNone);  // the largest sum in each
  std::vector<std::int64_t> left(axis.columns, kNone);     // the sum at its end
  std::int64_t sum = 0;
  const auto show = [&](std::size_t bin) {
    const auto at = timeline.first() + timeline.width() * static_cast<std::int64_t>(bin);
    if (at >= axis.to) return false;
    const auto column = static_cast<std::size_t>(std::max(at - axis.from, microseconds{0}) / width);
    columns[column] = std::max(columns[column], sum);
    left[column] = sum;
    return true;
  };
  for (std::size_t i = 0; i < bins.size(); ++i) {
    sum += bins[i].allowed;
    if (i >= in_window) sum -= bins[i - in_window].allowed;
    if (!show(i)) break;
  }
  // Units leave the window after the last bin, too; the sum changes only then.
  for (auto i = std::max(in_window, bins.size()); i - in_window < bins.size(); ++i) {
    sum -= bins[i - in_window].allowed;
    if (!show(i)) break;
  }
  // A column without a bin shows the sum before it.
  std::int64_t before = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == kNone) columns[i] = before;
    if (left[i] != kNone) before = left[i];
  }
  return columns;
}

}  // namespace rlctl::cli::burst
