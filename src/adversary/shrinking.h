#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "adversary/schedule.h"
#include "adversary/trial.h"

namespace rlctl::adversary {

/// The bounds of a schedule that shrinking tries. No request is later than limiter::kLatestNow.
struct Bounds {
  microseconds base{0};  ///< the start of a window; no request is earlier
  microseconds window{0};
  microseconds tick{1};     ///< times are the base plus multiples of this
  bool steps_back = false;  ///< times may go back
};

/// A schedule and how the limiter answers it.
struct Answered {
  Schedule schedule = {};
  Answers answers = {};
};
/// Whether a schedule with these answers still shows what was found.
using StillShows = std::function<bool(const Schedule&, const Answers&)>;

struct Shrunk {
  Answered found = {};
  std::int64_t asked = 0;  ///< requests
};

/// Makes a finding smaller: drops requests that it does not need, joins instants, and moves each to
/// the roundest time that still shows the finding. Sends at most `budget` requests. An interrupt of
/// the trial ends it early.
[[nodiscard]] Shrunk shrink(Trial& trial, Answered found, const StillShows& still_shows,
                            const Bounds& bounds, std::int64_t budget);

}  // namespace rlctl::adversary
