#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "traffic/measurement.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

// Traffic whose events follow from decisions: who gets a lease releases it, and who gets a
// reservation settles it. What follows is said by holding.cc and spending.cc.

namespace rlctl::traffic {

/// At least 1 µs.
inline microseconds scaled(microseconds time, double factor) {
  const auto us = std::llround(static_cast<double>(time.count()) * factor);
  return microseconds{std::max<std::int64_t>(us, 1)};
}

/// Something that a holder does, or that happens to a holder.
struct Step {
  microseconds at{0};
  int act = 0;  ///< a number of the class's own; at equal times the lowest comes first
  std::uint32_t holder = 0;
};

/// Gives each request of a traffic to a decider as the first event of a new holder, and with them
/// what follows from the decisions, in the order of the times; at equal times what follows is
/// first.
class FollowUps {
 public:
  /// The references must outlive this. `zero`: see Timeline.
  FollowUps(Traffic& traffic, Decider& decider, const limiter::Limit& limit,
            const OnDecision& on_decision, std::optional<microseconds> zero)
      : traffic_(traffic),
        decider_(decider),
        on_decision_(on_decision),
        limits_{limit},
        recorder_(limits_, no_callback_, false, zero) {}
  FollowUps(const FollowUps&) = delete;
  FollowUps& operator=(const FollowUps&) = delete;
  virtual ~FollowUps() = default;

 protected:
  /// Until nothing follows any more; false if it was interrupted.
  bool run(const Interrupt& interrupt, const OnProgress& on_progress);
  /// Of the first events of all holders; its windows and reports mean nothing.
  Outcome finish(bool is_interrupted);

  void follow_with(const Step& step) { due_.push(step); }
  std::uint32_t new_holder() { return ++last_holder_; }
  microseconds now() const { return now_; }  ///< of the last step
  /// Asks for these too, when run() has ended; empty if it was interrupted.
  std::vector<limiter::Decision> ask(std::span<const Arrival> arrivals);

 private:
  /// The first step of a new holder.
  virtual Step begin(std::uint32_t holder, const Arrival& request) = 0;
  /// When, at the earliest, another step follows from the decision about this one; the maximum if
  /// none does.
  virtual microseconds next_after(const Step& step) const = 0;
  /// What is asked for; std::nullopt if nobody is asked.
  virtual std::optional<Arrival> event_of(const Step& step) const = 0;
  /// The decision about a step, which is empty if nobody was asked.
  virtual void take(const Step& step, const limiter::Decision& decision) = 0;

  bool plan_batch();
  bool decide();

  struct IsLater {
    bool operator()(const Step& one, const Step& other) const {
      return std::tuple(one.at, one.act, one.holder) >
             std::tuple(other.at, other.act, other.holder);
    }
  };

  Traffic& traffic_;
  Decider& decider_;
  const OnDecision& on_decision_;
  const OnDecision no_callback_;
  std::vector<limiter::Limit> limits_;
  OutcomeRecorder recorder_;
  std::priority_queue<Step, std::vector<Step>, IsLater> due_;
  microseconds now_{0};
  std::int64_t begun_ = 0;
  std::uint32_t last_holder_ = 0;
  Arrival next_;  ///< the next request
  bool has_next_ = false;
  std::vector<Step> steps_;                   ///< of the batch
  std::vector<Arrival> arrivals_;             ///< those for which somebody is asked
  std::vector<bool> is_asked_;                ///< by step
  std::vector<limiter::Decision> decisions_;  ///< by arrival
};

}  // namespace rlctl::traffic
