#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "limiter/decision.h"
#include "limiter/limit.h"
#include "traffic/measurement.h"
#include "traffic/timeline.h"
#include "traffic/timing.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// The results of one candidate.
struct Outcome {
  Measured measured = {};
  std::vector<KeyDenied> top_denied = {};  ///< at most ten
  Timeline timeline = {};                  ///< of requests as they come
  /// Of what is allowed, in units, as it may go on: after its delay, if any.
  Timeline departures = {};
  /// At the end of the traffic, over the keys that are there then; none without a server.
  std::optional<double> bytes_per_key = {};
  std::optional<Timing> timing = {};  ///< under the real clock
  bool interrupted = false;           ///< it covers only the beginning of the traffic
};

/// Called for each request with what was decided, in order: for --jsonl and --csv.
using OnDecision = std::function<void(const Arrival&, const limiter::Decision&)>;
/// Called at least a few times a second with the number of requests decided.
using OnProgress = std::function<void(std::int64_t)>;

/// Makes an outcome of decisions as they come, in the order of their times.
class OutcomeRecorder {
 public:
  /// `on_decision` may be empty.
  OutcomeRecorder(const std::vector<limiter::Limit>& limits, const OnDecision& on_decision)
      : measurement_(limits), on_decision_(on_decision) {}

  void add(const Arrival& arrival, const limiter::Decision& decision) {
    measurement_.add(arrival, decision);
    timeline_.add(arrival.at, decision.allowed);
    if (departures_.bins().empty()) departures_.begin_at(arrival.at);
    if (decision.allowed) departures_.add(arrival.at + decision.delay, true, arrival.cost);
    if (on_decision_) on_decision_(arrival, decision);
  }
  /// Of all that was added; once.
  [[nodiscard]] Outcome finish() {
    return {.measured = measurement_.result(),
            .top_denied = measurement_.most_denied(kTopDenied),
            .timeline = std::move(timeline_),
            .departures = std::move(departures_)};
  }

 private:
  static constexpr std::size_t kTopDenied = 10;

  Measurement measurement_;
  Timeline timeline_, departures_;
  const OnDecision& on_decision_;
};

}  // namespace rlctl::traffic
