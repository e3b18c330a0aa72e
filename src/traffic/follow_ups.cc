#include "traffic/follow_ups.h"

#include <algorithm>

namespace rlctl::traffic {
namespace {

/// The most steps in one call of the decider.
constexpr std::size_t kMostInCall = 4096;

/// Whether it is what a request of the traffic becomes.
bool is_first(Event event) {
  return event == Event::kRequest || event == Event::kReserve;
}

}  // namespace

bool FollowUps::run(const Interrupt& interrupt, const OnProgress& on_progress) {
  while (true) {
    if (interrupt.signal() != 0) return false;
    if (!plan_batch()) return true;
    if (!decide()) return false;
    if (on_progress) on_progress(begun_);
  }
}

/// Collects steps until one may depend on the answer to another; false at the end.
bool FollowUps::plan_batch() {
  steps_.clear();
  arrivals_.clear();
  is_asked_.clear();
  auto known_until = microseconds::max();
  while (arrivals_.size() < kMostInCall) {
    if (!has_next_ && !traffic_.next(next_)) next_.at = microseconds::max();
    has_next_ = true;
    const bool is_due = !due_.empty() && due_.top().at <= next_.at;
    const auto at = is_due ? due_.top().at : next_.at;
    if (at >= known_until || at == microseconds::max()) break;
    if (is_due) {
      steps_.push_back(due_.top());
      due_.pop();
    } else {
      steps_.push_back(begin(new_holder(), next_));
      has_next_ = false;
    }
    known_until = std::min(known_until, next_after(steps_.back()));
    const auto event = event_of(steps_.back());
    is_asked_.push_back(event.has_value());
    if (event) arrivals_.push_back(*event);
  }
  return !steps_.empty();
}

/// False if it was interrupted.
bool FollowUps::decide() {
  decisions_.resize(arrivals_.size());
  std::size_t answered = 0;
  try {
    answered = decider_.decide(arrivals_, decisions_);
  } catch (const Interrupted&) {
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (is_asked_[i] && next == answered) return false;
    now_ = steps_[i].at;
    if (!is_asked_[i]) {
      take(steps_[i], {});
      continue;
    }
    const auto& arrival = arrivals_[next];
    const auto& decision = decisions_[next++];
    if (on_decision_) on_decision_(arrival, decision);
    take(steps_[i], decision);
    if (!is_first(arrival.event)) continue;
    recorder_.add(arrival, decision);
    ++begun_;
  }
  return true;
}

std::vector<limiter::Decision> FollowUps::ask(std::span<const Arrival> arrivals) {
  std::vector<limiter::Decision> decisions(arrivals.size());
  try {
    if (decider_.decide(arrivals, decisions) == arrivals.size()) return decisions;
  } catch (const Interrupted&) {
  }
  return {};
}

Outcome FollowUps::finish(bool is_interrupted) {
  auto outcome = recorder_.finish();
  outcome.replies = decider_.replies();
  outcome.was_stalled = decider_.was_stalled();
  outcome.interrupted = is_interrupted;
  return outcome;
}

}  // namespace rlctl::traffic
