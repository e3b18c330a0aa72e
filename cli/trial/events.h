#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "limiter/limit.h"
#include "traffic/measurement.h"
#include "traffic/traffic.h"

// The single requests of a run. Only a page (html.h) shows them, so they are kept only if one is
// asked for.

namespace rlctl::cli::trial {

/// A request and its decision.
struct Event {
  std::chrono::microseconds at{0};
  /// How long an allowed request is delayed, or the retry_after of a denied one, with kNever and
  /// kTimeNotTold.
  std::chrono::microseconds wait{0};
  std::int64_t remaining = limiter::kNotTold;
  std::int64_t cost = 1;     ///< below 0: a refund
  std::uint32_t number = 0;  ///< in the traffic, from 1
  std::uint32_t key = 0;     ///< an index of Events::keys
  int denied_by = 0;         ///< as in limiter::Decision
  bool allowed = false;
};

/// The requests of a run that a page shows one by one.
struct Events {
  static constexpr std::size_t kMost = 100'000;

  std::vector<Event> single = {};  ///< in the order of the traffic
  std::vector<std::string> keys = {};
  /// These are all requests of the run. If not, they are those of the keys in `whole`, and those
  /// of any key from `from` to `to`, which are around the worst window.
  bool is_complete = true;
  std::vector<std::uint32_t> whole = {};  ///< indices of `keys`
  std::chrono::microseconds from{0}, to{-1};
};

/// Collects the requests of a run, and chooses what to show.
class EventRecorder {
 public:
  void add(const traffic::Arrival& arrival, const limiter::Decision& decision);
  /// The events to show: all, or if there are too many, those of the worst window's key and of the
  /// keys denied most, as far as they fit, and those around the worst window of a limit with this
  /// `window`. Call this once.
  Events finish(const traffic::Traffic& traffic, const traffic::Outcome& outcome,
                std::chrono::microseconds window);

 private:
  /// No more are held: 80 MB.
  static constexpr std::size_t kMostHeld = 2'000'000;

  void choose(Events& chosen, const traffic::Outcome& outcome,
              std::chrono::microseconds window) const;

  std::vector<Event> all_;  ///< their keys are those of the traffic
  std::uint32_t seen_ = 0;
};

}  // namespace rlctl::cli::trial
