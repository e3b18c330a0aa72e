#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lint/findings.h"

// The flaws that a limiter's answers show, whatever it does for them: all flaws of a program, and
// the wrong figures of a script. cli/commands/lint/program.cc and observer.cc send the traffic and
// fill in an AnswerObservation; find_flaws() turns that into findings, which have no line. There is
// a finding only if the answers show it.

namespace rlctl::lint {

/// A figure in an answer that the answers to later requests refute.
struct WrongFigure {
  std::int64_t told = 0, actual = 0;  ///< µs, where -1 is never; or requests of cost 1
  std::string schedule = {};
};

/// A client that was idle got more than one that kept asking.
struct IdleGap {
  std::chrono::microseconds gap{0};
  std::int64_t allowed = 0;    ///< at one instant, after the gap
  std::int64_t if_asking = 0;  ///< in the gap and after it
  std::string schedule = {};
};

/// What a limiter answered under traffic.
struct AnswerObservation {
  std::chrono::microseconds window{1};
  ProbedFlaws probed = {};  ///< but for `forgotten`
  std::optional<IdleGap> idle_gap = {};
  std::optional<std::string> denied_for_ever = {};  ///< the schedule
  std::optional<std::string> whole_seconds = {};    ///< the schedules whose ends show it
  std::optional<WrongFigure> short_wait = {}, long_wait = {};
  std::optional<WrongFigure> much_remaining = {}, little_remaining = {};
  std::optional<WrongFigure> early_reset = {}, late_reset = {};
};

std::vector<Finding> find_flaws(const AnswerObservation& observation);

}  // namespace rlctl::lint
