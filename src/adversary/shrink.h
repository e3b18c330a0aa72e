#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "limiter/limit.h"

namespace rlctl::adversary {

/// Whether the finding still shows.
using StillShows = std::function<bool(const Schedule&, const Answers&)>;

/// The same finding with fewer requests, and at rounder times: first it leaves out what is not
/// needed, then it makes one of instants that may be one, and moves each to the roundest time that
/// will do. `found`: with its answers. `clock_steps_back`: the
/// order of times may break. A window begins at `base`, before which nothing comes. Asks at most
/// `budget` requests; returns how it was answered, too.
struct Shrunk {
  Schedule schedule;
  Answers answers;
  std::int64_t asked = 0;
};
[[nodiscard]] Shrunk shrink(Trial& trial, Shrunk found, const StillShows& still_shows,
                            microseconds base, microseconds window, bool clock_steps_back,
                            std::int64_t budget);

}  // namespace rlctl::adversary
