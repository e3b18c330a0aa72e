#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "traffic/outcome.h"
#include "traffic/script.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// An instant to the ns, of the steady clock.
using Instant = Clock::time_point;

/// The time of day when this was made, and steady from then on: no adjustment of the system's clock
/// moves it.
class RealClock {
 public:
  RealClock()
      : origin_(now()),
        origin_since_1970_(std::chrono::floor<std::chrono::microseconds>(
            std::chrono::system_clock::now().time_since_epoch())) {}

  [[nodiscard]] static Instant now() { return Clock::now(); }
  /// Rounded down.
  [[nodiscard]] std::chrono::microseconds since_1970(Instant instant) const {
    return origin_since_1970_ + std::chrono::floor<std::chrono::microseconds>(instant - origin_);
  }
  [[nodiscard]] Instant at(std::chrono::microseconds since_1970) const {
    return origin_ + (since_1970 - origin_since_1970_);
  }

 private:
  Instant origin_;
  std::chrono::microseconds origin_since_1970_;
};

/// The progress of a run under the real clock.
struct RealProgress {
  std::chrono::microseconds until_first{0};  ///< until the first request is due; 0 afterwards
  std::int64_t sent = 0, allowed = 0, denied = 0;
  double seconds = 0;              ///< since the first request was sent
  const Timing* timing = nullptr;  ///< so far; never null
};
using OnRealProgress = std::function<void(const RealProgress&)>;

/// What both ways to drive traffic under the real clock need.
struct RealRun {
  Script* script = nullptr;
  /// At least one; requests take turns on them. An interrupt must not break them: the requests in
  /// flight are awaited, so that none is executed after its keys have been removed.
  std::span<redis::Connection> connections = {};
  std::vector<limiter::Limit> limits = {};
  /// How long a connection may be silent while an answer is awaited on it, and how long the
  /// requests in flight may take once an interrupt or an error has ended the run.
  std::chrono::microseconds timeout{0};
  const Interrupt* interrupt = nullptr;
  /// In the order of sending, once all before it have been answered.
  OnDecision on_decision = {};
  OnRealProgress on_progress = {};  ///< ten times a second or so
};

/// Open loop: each request is sent when it is due by the traffic and a RealClock, however slow the
/// answers to earlier requests are; a delay in sending shows as lag. A request's `now`, and the
/// time at which it is measured, is when it was handed to its connection. The outcome has a Timing.
///
/// First the script is loaded and each connection pinged, so that a broken one is reported before
/// anything is sent; the traffic must leave time for that: 20 ms, and 100 µs for each connection.
///
/// Ends early, without an exception, if the interrupt is raised: nothing more is sent, and the
/// requests in flight are awaited; if the server stays silent, the outcome covers what was
/// answered. Throws redis::Error once nothing is in flight: for an error reply, a server that is
/// gone, or one that is silent for `timeout`. In the last case, and if the answers of an
/// interrupted run do not come, the connections concerned are useless, and what was sent may yet be
/// executed.
[[nodiscard]] Outcome run_on_schedule(Traffic& traffic, const RealRun& run);

/// Closed loop: each connection has `pipeline` requests (at least one) in flight at any time, and
/// sends the next one as soon as an answer has come. The traffic gives the keys and the costs.
/// Lasts for `duration`, or until the traffic ends; then the requests in flight are awaited.
/// Otherwise as run_on_schedule().
[[nodiscard]] Outcome run_flat_out(Traffic& traffic, const RealRun& run, std::size_t pipeline,
                                   std::optional<std::chrono::microseconds> duration);

}  // namespace rlctl::traffic
