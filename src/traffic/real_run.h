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

/// The time of day as the system had it when this was made, and steady from then on: no adjustment
/// of the system's clock moves it.
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

/// How far a run under the real clock is.
struct RealProgress {
  std::chrono::microseconds until_first{0};  ///< until the first request is due; 0 once it was
  std::int64_t sent = 0, allowed = 0, denied = 0;
  double seconds = 0;              ///< since the first request was sent
  const Timing* timing = nullptr;  ///< so far; never null
};
using OnRealProgress = std::function<void(const RealProgress&)>;

/// What both ways to drive traffic under the real clock have in common.
struct RealRun {
  Script* script = nullptr;
  /// Requests take turns on them; at least one. They are not to end by an interrupt: requests that
  /// are on their way when it comes are awaited, so that none is executed after its keys have been
  /// removed.
  std::span<redis::Connection> connections = {};
  std::vector<limiter::Limit> limits = {};
  /// How long a connection may be silent while an answer is awaited on it, and how long all that is
  /// on its way may take once the run has been interrupted, or ended by an error.
  std::chrono::microseconds timeout{0};
  const Interrupt* interrupt = nullptr;
  /// In the order of sending, once all before it have been answered.
  OnDecision on_decision = {};
  OnRealProgress on_progress = {};  ///< ten times a second or so
};

/// Open loop: each request is sent at the time at which the traffic says it comes, by the system's
/// clock, however slow the answers to those before it are; what is late shows as lag. (The clock is
/// read once: it is steady from then on, whatever is done to the system's.) A request's `now`, and
/// the time at which it is measured, is that at which it was handed to its connection. The outcome
/// has a Timing.
///
/// First the script is loaded and each connection asked once, so that what is wrong with one is
/// said before anything is sent; the traffic must leave time for it: 20 ms, and 100 µs for each
/// connection.
///
/// Ends early, without an exception, where the interrupt is raised: nothing more is sent, what is
/// on its way is awaited, and of a server that stays mute the outcome has what was answered. Throws
/// redis::Error, once nothing is on its way any more: an error reply, a server that is gone, one
/// that is silent for `timeout`; in the last case, and where an interrupted run's answers do not
/// come, the connections concerned are of no more use, and what was sent may yet be executed.
[[nodiscard]] Outcome run_on_schedule(Traffic& traffic, const RealRun& run);

/// Closed loop: each connection has `pipeline` requests (at least one) on their way at any time,
/// and sends the next one as soon as an answer has come; the traffic says for which keys and at
/// which cost. For `duration`, or until the traffic ends; what is on its way then is awaited. Else
/// as run_on_schedule().
[[nodiscard]] Outcome run_flat_out(Traffic& traffic, const RealRun& run, std::size_t pipeline,
                                   std::optional<std::chrono::microseconds> duration);

}  // namespace rlctl::traffic
