#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "traffic/pattern.h"

namespace rlctl::adversary {

/// A schedule, and the answers to it.
struct Answered {
  Schedule schedule = {};
  Answers answers = {};
};

/// A trial of which some schedules are kept, to be repeated elsewhere: those that a limiter allowed
/// the most units of, and as many by chance.
class SampledTrial final : public Trial {
 public:
  /// How many are kept of either kind.
  static constexpr std::size_t kEach = 200;

  /// The trial must outlive this.
  SampledTrial(Trial& trial, std::uint64_t seed) : trial_(trial), random_(seed) {}

  /// The schedules that were kept, each once.
  std::vector<Answered> sample() const;

  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::vector<microseconds> ttls(const Schedule& schedule) override {
    return trial_.ttls(schedule);
  }
  bool leaves_endless_key(const Schedule& schedule) override {
    return trial_.leaves_endless_key(schedule);
  }
  void confirm(const Schedule& schedule, const Answers& answers) override {
    trial_.confirm(schedule, answers);
  }
  std::unique_ptr<Branching> branching() override { return trial_.branching(); }
  void note_tried(const Schedule& schedule, const Answers& answers) override {
    keep(schedule, answers);
  }

 private:
  /// The number of a schedule, from 0 in the order in which they were tried, and itself.
  struct Kept {
    std::int64_t number = 0;
    Answered answered = {};
  };

  void keep(const Schedule& schedule, const Answers& answers);

  Trial& trial_;
  traffic::Random random_;
  std::int64_t number_ = 0;
  /// The units that were allowed, and the number in best_ of the schedule.
  std::set<std::pair<std::int64_t, std::size_t>> by_units_;
  std::vector<Kept> best_, random_ones_;
};

}  // namespace rlctl::adversary
