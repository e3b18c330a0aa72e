#pragma once

#include <optional>

#include "traffic/histogram.h"

namespace rlctl::traffic {

/// What a run under the real clock took, on the sender's side.
struct Timing {
  Histogram service;   ///< from sending a request to its answer
  Histogram response;  ///< from when it was to be sent to its answer; empty without a schedule
  Histogram lag;       ///< from when it was to be sent to sending it; empty without a schedule
  double seconds = 0;  ///< from the first sending to the last answer
  double offered_per_second = 0;   ///< as scheduled; 0 without a schedule
  double achieved_per_second = 0;  ///< answers
  /// The server's own time for each call of the script; none where it does not tell, or where
  /// others called scripts meanwhile.
  std::optional<double> server_us_per_call = {};

  /// Whether the sender kept to the schedule, so that what was measured is the server's: the lag's
  /// p99 is at most a tenth of service's p99 (the maxima, where there are too few for a
  /// percentile), and at least 99 % of the offered rate was achieved. True without a schedule.
  [[nodiscard]] bool is_valid() const;
};

}  // namespace rlctl::traffic
