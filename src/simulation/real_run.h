#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "script/script.h"
#include "simulation/measurement.h"
#include "traffic/traffic.h"

// Runs under the real clock: requests are sent when they are due, on one connection.
// exec/real_run.h does the same with programs.

namespace rlctl::simulation {

// ---- What a server reports ----

/// The memory of a key in Redis by MEMORY USAGE, on average over the keys that exist now.
/// std::nullopt if no key exists or the user may not call it.
std::optional<double> bytes_per_key(redis::Connection& connection,
                                    std::span<const std::string> keys);

// ---- The clock ----

/// An instant of the steady clock, exact to the ns.
using Instant = Clock::time_point;

/// Starts at the system's time of day and is steady from then on: adjustments of the system's clock
/// do not move it.
class RealClock {
 public:
  RealClock()
      : origin_(now()),
        origin_since_1970_(std::chrono::floor<std::chrono::microseconds>(
            std::chrono::system_clock::now().time_since_epoch())) {}

  static Instant now() { return Clock::now(); }
  /// Rounded down.
  std::chrono::microseconds since_1970(Instant instant) const {
    return origin_since_1970_ + std::chrono::floor<std::chrono::microseconds>(instant - origin_);
  }
  Instant at(std::chrono::microseconds since_1970) const {
    return origin_ + (since_1970 - origin_since_1970_);
  }

 private:
  Instant origin_;
  std::chrono::microseconds origin_since_1970_;
};

// ---- Runs ----

inline constexpr std::chrono::milliseconds kBetweenProgress{100};
/// A sender stays awake for this long before a request is due: the kernel's timers are 50 to 100 µs
/// late.
inline constexpr std::chrono::microseconds kAwake{200};

/// The progress of a run under the real clock.
struct RealProgress {
  std::chrono::microseconds until_first{0};  ///< until the first request is due; 0 afterwards
  std::int64_t sent = 0, allowed = 0, denied = 0;
  double seconds = 0;  ///< since the first request was sent
};
using OnRealProgress = std::function<void(const RealProgress&)>;

/// Measures the pace of requests and answers.
class PaceRecorder {
 public:
  void add_sent(Instant now, Instant due);
  void add_answer(Instant now);
  /// Sets when the first request is due. Call this before the first add_sent().
  void set_first_due(Instant due) noexcept { first_due_ = due; }

  /// The pace so far; none if nothing was sent.
  std::optional<Pace> pace() const;
  RealProgress progress(Instant now, std::int64_t allowed, std::int64_t denied) const;

 private:
  std::int64_t sent_ = 0, answered_ = 0;
  std::chrono::nanoseconds lag_{0};
  Instant first_due_ = {}, last_due_ = {}, first_sent_ = {}, last_sent_ = {}, last_answer_ = {};
};

/// The parameters of a run under the real clock.
struct RealRun {
  /// Null for a program, which has no connection either.
  script::Script* script = nullptr;
  /// An interrupt must not break it: the run awaits the requests in flight, so that none is
  /// executed after its keys are removed.
  redis::Connection* connection = nullptr;
  std::vector<limiter::Limit> limits = {};
  /// How long a connection may be silent while an answer is outstanding, and how long the requests
  /// in flight may take once an interrupt or an error has ended the run.
  std::chrono::microseconds timeout{0};
  const Interrupt* interrupt = nullptr;
  /// Called in sending order.
  OnDecision on_decision = {};
  OnRealProgress on_progress = {};  ///< about ten times a second
  /// Timeline::zero() of the outcome; by default the time of the first request.
  std::optional<std::chrono::microseconds> zero = {};
};

/// Open loop: each request is sent when it is due according to the traffic and a RealClock, however
/// slow the answers to earlier requests are; a delay in sending counts as lag. A request's `now`,
/// and its time in the outcome, is when it was handed to the connection. The outcome has a Pace.
///
/// First loads the script, which reports a broken connection before any request is sent; the
/// traffic must leave time for this: 20 ms.
///
/// Ends early, without an exception, if the interrupt is raised: sends no more, and awaits the
/// requests in flight; if the server stays silent, the outcome covers the answered requests. Throws
/// redis::Error once nothing is in flight: for an error reply, a lost connection, or a server that
/// is silent for `timeout`. In the last case, and if the answers of an interrupted run do not
/// arrive, the connection is unusable, and the server may still execute the requests.
Outcome run_in_real_time(traffic::Traffic& traffic, const RealRun& run);

}  // namespace rlctl::simulation
