#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limit.h"
#include "lint/answers.h"
#include "lint/findings.h"
#include "lint/schedules.h"

// Compares the figures in a limiter's answers (retry_after, remaining, reset_after) with how it
// answers later requests. Programs and scripts are judged alike.

namespace rlctl::lint {

/// The names of figures.
inline constexpr std::string_view kWait = "retry_after_us", kRemaining = "remaining",
                                  kReset = "reset_after_us";

/// Requests at one instant, some time after a schedule.
struct Retry {
  std::int64_t cost = 1;
  std::size_t count = 1;
};

class Figures {
 public:
  /// `ask` answers a schedule, or not at all if the limiter refuses a cost other than 1. A time may
  /// be told `late` too short. The references must outlive this.
  Figures(const limiter::Limit& limit, const Ask& ask, std::chrono::microseconds late);

  /// The limiter is said to tell this figure: if no answer has it, it is not tested.
  void expect(std::string_view figure) { figures_[figure]; }

  /// After which requests are allowed that follow a denied one; std::nullopt if that takes longer
  /// than anything may.
  std::optional<std::chrono::microseconds> wait_after(const adversary::Schedule& schedule,
                                                      const Retry& retry,
                                                      std::chrono::microseconds at_least);
  /// Judges all figures. `fills`, by cost, must not be empty; `at_once` is how many requests of
  /// cost 1 are allowed at one instant. Adds wrong figures to `seen`, the figures that were judged
  /// to `tested`, and those that could not be judged to `not_tested`.
  void check(const std::map<std::int64_t, Fill>& fills, std::int64_t at_once,
             AnswerObservation& seen, std::vector<std::string>& tested,
             std::vector<NotTested>& not_tested);

 private:
  /// Whether requests are allowed that come so long after the schedule; std::nullopt if the limiter
  /// refuses a cost.
  std::optional<bool> are_allowed(const adversary::Schedule& schedule,
                                  std::chrono::microseconds after, const Retry& retry) const;
  void note(std::optional<WrongFigure>& figure, std::int64_t told, std::int64_t actual,
            const adversary::Schedule& schedule);
  std::vector<adversary::Schedule> denials(const Fill& fill, std::int64_t cost) const;
  void check_times(const Fill& fill, std::int64_t cost, bool has_resets);
  /// Compares a told time with the one after which requests are allowed that follow the schedule.
  void check_time(std::string_view figure, const adversary::Schedule& schedule,
                  std::chrono::microseconds told, std::chrono::microseconds slack,
                  const Retry& retry, std::optional<WrongFigure>& short_time,
                  std::optional<WrongFigure>& long_time);
  void check_remaining(const std::map<std::int64_t, Fill>& fills);
  std::chrono::microseconds patience() const;

  const limiter::Limit& limit_;
  const Ask& ask_;
  std::chrono::microseconds precision_;  ///< by which a time may be too short
  std::chrono::microseconds window_, start_, tick_;
  std::int64_t at_once_ = 0;
  std::map<std::string_view, bool> figures_;  ///< whether each was judged
  AnswerObservation* seen_ = nullptr;
};

}  // namespace rlctl::lint
