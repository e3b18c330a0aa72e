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

/// Called before requests are sent, with the number of those sent so far and the most that will be;
/// if it returns false, the shrinking ends with what it has.
using KeepsShrinking = std::function<bool(std::int64_t, std::int64_t)>;

struct Shrunk {
  Answered found = {};
  std::int64_t asked = 0;  ///< requests
};

/// Makes a finding smaller: drops requests that it does not need, joins instants, and moves each to
/// the roundest time that still shows the finding. Sends at most `budget` requests. `keeps_on` may
/// be empty; an interrupt of the trial ends it early, too.
[[nodiscard]] Shrunk shrink(Trial& trial, Answered found, const StillShows& still_shows,
                            const Bounds& bounds, std::int64_t budget,
                            const KeepsShrinking& keeps_on = {});

}  // namespace rlctl::adversary
