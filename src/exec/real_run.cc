#include "exec/real_run.h"

#include <algorithm>
#include <deque>

namespace rlctl::exec {
namespace {

using traffic::Arrival;
using traffic::Instant;
using traffic::RealClock;

/// A run of either kind.
class RealTime {
 public:
  RealTime(Program& program, traffic::Traffic& traffic, const traffic::RealRun& run,
           bool has_schedule, Deadline end)
      : program_(program),
        traffic_(traffic),
        run_(run),
        has_schedule_(has_schedule),
        end_(end),
        recorder_(run.limits, run.on_decision, true, run.zero) {}

  traffic::Outcome run() {
    fetch();
    if (has_next_ && has_schedule_) times_.set_first_due(due_);
    bool is_interrupted = false;
    try {
      while (goes_on() || !in_flight_.empty()) turn();
    } catch (const Interrupted&) {
      is_interrupted = true;
    }
    auto outcome = recorder_.finish();
    outcome.timing = times_.timing();
    outcome.interrupted = is_interrupted;
    return outcome;
  }

 private:
  struct Sent {
    Arrival arrival = {};
    Instant at = {};
    std::optional<Instant> due = {};
  };

  bool goes_on() const { return has_next_ && RealClock::now() < end_; }

  void fetch() {
    has_next_ = traffic_.next(next_);
    if (has_next_ && has_schedule_) due_ = clock_.at(next_.at);
  }

  bool has_room() const { return in_flight_.size() < program_.pipeline(); }

  void turn() {
    while (goes_on() && has_room() && (!has_schedule_ || due_ <= RealClock::now())) send();
    const auto until =
        goes_on() && has_room() ? std::min(due_ - traffic::kAwake, end_) : next_progress_;
    program_.wait(std::min(until, next_progress_));
    while (const auto decision = program_.take()) add(*decision);
    const auto now = RealClock::now();
    if (now < next_progress_) return;
    next_progress_ = now + traffic::kBetweenProgress;
    if (run_.on_progress) run_.on_progress(times_.progress(now, allowed_, denied_));
  }

  void send() {
    const auto now = RealClock::now();
    const auto due = has_schedule_ ? std::optional(due_) : std::nullopt;
    next_.at = clock_.since_1970(now);
    program_.send(next_);
    times_.add_sent(now, due);
    in_flight_.push_back({.arrival = next_, .at = now, .due = due});
    fetch();
  }

  void add(const limiter::Decision& decision) {
    const auto& sent = in_flight_.front();
    times_.add_answer(RealClock::now(), sent.at, sent.due);
    ++(decision.allowed ? allowed_ : denied_);
    recorder_.add(sent.arrival, decision);
    in_flight_.pop_front();
  }

  Program& program_;
  traffic::Traffic& traffic_;
  const traffic::RealRun& run_;
  bool has_schedule_;
  Deadline end_;
  RealClock clock_;
  traffic::OutcomeRecorder recorder_;
  traffic::TimingRecorder times_;
  std::deque<Sent> in_flight_;
  Arrival next_;
  bool has_next_ = false;
  Instant due_ = {};
  Instant next_progress_ = RealClock::now();
  std::int64_t allowed_ = 0, denied_ = 0;
};

}  // namespace

traffic::Outcome run_on_schedule(Program& program, traffic::Traffic& traffic,
                                 const traffic::RealRun& run) {
  return RealTime(program, traffic, run, true, kNoDeadline).run();
}

traffic::Outcome run_flat_out(Program& program, traffic::Traffic& traffic,
                              const traffic::RealRun& run,
                              std::optional<std::chrono::microseconds> duration) {
  const auto end = duration ? RealClock::now() + *duration : kNoDeadline;
  return RealTime(program, traffic, run, false, end).run();
}

}  // namespace rlctl::exec
