#include "cli/burst_scale.h"

#include <algorithm>

namespace rlctl::cli {

using std::chrono::microseconds;

namespace {

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

}  // namespace rlctl::cli
