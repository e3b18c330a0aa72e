#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/burst_report.h"
#include "cli/time_axis.h"

namespace rlctl::cli {

/// What all panels of a report's picture have in common.
struct BurstScale {
  std::chrono::microseconds begin{0}, end{0};  ///< of the traffic, as far as it was sent
  std::chrono::microseconds window{1};         ///< of the first limit, which is the one drawn
  std::int64_t limit = 1;                      ///< units, of all keys together
  std::int64_t cost = 1;                       ///< units a request
  std::int64_t most = 0;                       ///< units within a window, at most
};

[[nodiscard]] BurstScale scale_of(const BurstReport& report);

/// A run's timeline in the columns of an axis.
[[nodiscard]] std::vector<traffic::Timeline::Bin> columns_of(const traffic::Timeline& timeline,
                                                             const TimeAxis& axis);

}  // namespace rlctl::cli
