#include "cli/burst_scale.h"

#include <algorithm>

namespace rlctl::cli {

using std::chrono::microseconds;

BurstScale scale_of(const BurstReport& report) {
  const auto& limit = report.limits.front();
  BurstScale scale{.window = limit.window,
                   .limit = limit.limit * report.request.keys,
                   .cost = report.request.cost};
  const bool has_edges = !report.real || report.pattern->first_in_window != nullptr;
  bool first = true;
  for (const auto& run : report.runs) {
    const auto& outcome = run.outcome;
    const auto most = report.request.keys == 1 ? outcome.measured.worst.allowed
                                               : outcome.measured.allowed * scale.cost;
    scale.most = std::max(scale.most, most);
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
  return allowed_within_window(run.outcome.departures, axis_of_run(axis, run), scale.window);
}

}  // namespace rlctl::cli
