#include "cli/burst_scale.h"

#include <algorithm>

namespace rlctl::cli {

BurstScale scale_of(const BurstReport& report) {
  const auto& limit = report.limits.front();
  BurstScale scale{.window = limit.window,
                   .limit = limit.limit * report.request.keys,
                   .cost = report.request.cost};
  bool first = true;
  for (const auto& run : report.runs) {
    const auto& outcome = run.outcome;
    const auto most = report.request.keys == 1 ? outcome.measured.worst.allowed
                                               : outcome.measured.allowed * scale.cost;
    scale.most = std::max(scale.most, most);
    if (outcome.measured.sent == 0) continue;
    const auto& timeline = outcome.timeline;
    scale.begin = first ? timeline.begin() : std::min(scale.begin, timeline.begin());
    scale.end = std::max(scale.end, timeline.end());
    first = false;
  }
  return scale;
}

std::vector<traffic::Timeline::Bin> columns_of(const traffic::Timeline& timeline,
                                               const TimeAxis& axis) {
  return timeline.resampled(axis.from, axis.to - std::chrono::microseconds{1}, axis.columns);
}

}  // namespace rlctl::cli
