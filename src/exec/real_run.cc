#include "exec/real_run.h"

#include <algorithm>
#include <deque>

namespace rlctl::exec {
namespace {

using simulation::Instant;
using simulation::RealClock;
using traffic::Arrival;

class RealTime {
 public:
  RealTime(Program& program, traffic::Traffic& traffic, const simulation::RealRun& run)
      : program_(program),
        traffic_(traffic),
        run_(run),
        recorder_(run.limits, run.on_decision, true, run.zero) {}

  simulation::Outcome run() {
    fetch();
    if (has_next_) pace_.set_first_due(due_);
    bool is_interrupted = false;
    try {
      while (has_next_ || !in_flight_.empty()) turn();
    } catch (const Interrupted&) {
      is_interrupted = true;
    }
    auto outcome = recorder_.finish();
    outcome.pace = pace_.pace();
    outcome.interrupted = is_interrupted;
    return outcome;
  }

 private:
  void fetch() {
    has_next_ = traffic_.next(next_);
    if (has_next_) due_ = clock_.at(next_.at);
  }

  bool has_room() const { return in_flight_.size() < program_.pipeline(); }

  void turn() {
    while (has_next_ && has_room() && due_ <= RealClock::now()) send();
    const auto until = has_next_ && has_room() ? due_ - simulation::kAwake : next_progress_;
    program_.wait(std::min(until, next_progress_));
    while (const auto decision = program_.take()) add(*decision);
    const auto now = RealClock::now();
    if (now < next_progress_) return;
    next_progress_ = now + simulation::kBetweenProgress;
    if (run_.on_progress) run_.on_progress(pace_.progress(now, allowed_, denied_));
  }

  void send() {
    const auto now = RealClock::now();
    next_.at = clock_.since_1970(now);
    program_.send(next_);
    pace_.add_sent(now, due_);
    in_flight_.push_back(next_);
    fetch();
  }

  void add(const limiter::Decision& decision) {
    pace_.add_answer(RealClock::now());
    ++(decision.allowed ? allowed_ : denied_);
    recorder_.add(in_flight_.front(), decision);
    in_flight_.pop_front();
  }

  Program& program_;
  traffic::Traffic& traffic_;
  const simulation::RealRun& run_;
  RealClock clock_;
  simulation::OutcomeRecorder recorder_;
  simulation::PaceRecorder pace_;
  std::deque<Arrival> in_flight_;
  Arrival next_;
  bool has_next_ = false;
  Instant due_ = {};
  Instant next_progress_ = RealClock::now();
  std::int64_t allowed_ = 0, denied_ = 0;
};

}  // namespace

simulation::Outcome run_in_real_time(Program& program, traffic::Traffic& traffic,
                                     const simulation::RealRun& run) {
  return RealTime(program, traffic, run).run();
}

}  // namespace rlctl::exec
