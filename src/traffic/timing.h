#pragma once

#include <optional>

#include "traffic/histogram.h"

namespace rlctl::traffic {

/// What a run under the real clock took, on the sender's side. On a schedule, n requests within t
/// are a rate of (n - 1) / t, what lies between them counts; without one they are n / t.
struct Timing {
  /// A sender, or a server, with this share of the rate has kept up.
  static constexpr double kKeptUp = 0.99;

  Histogram service = {};   ///< from sending a request to its answer
  Histogram response = {};  ///< from when it was to be sent to its answer; empty without a schedule
  Histogram lag = {};       ///< from when it was to be sent to sending it; empty without a schedule
  double seconds = 0;       ///< from the first sending to the last answer
  double offered_per_second = 0;   ///< as scheduled; 0 without a schedule, or all at one time
  double sent_per_second = 0;      ///< from the first sending to the last; 0 without a schedule
  double achieved_per_second = 0;  ///< answers within `seconds`
  /// The server's own time for each call of the script; none where it does not tell, or where
  /// others called scripts meanwhile.
  std::optional<double> server_us_per_call = {};

  /// Whether the sender kept to the schedule, so that what was measured is the server's: the lag's
  /// p99 is at most a tenth of service's p99 (the maxima, where there are too few for a
  /// percentile), and it sent at 99 % of the offered rate at least. True without a schedule. (That
  /// the answers keep up is the server's part: where they do not, response times grow for as long
  /// as the traffic lasts.)
  [[nodiscard]] bool is_valid() const;
};

}  // namespace rlctl::traffic
