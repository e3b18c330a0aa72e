#include "adversary/sample.h"

#include <set>

namespace rlctl::adversary {

std::vector<Answers> SampledTrial::run(std::span<const Schedule> schedules) {
  auto answers = trial_.run(schedules);
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!answers[i].empty()) keep(schedules[i], answers[i]);
  }
  return answers;
}

void SampledTrial::keep(const Schedule& schedule, const Answers& answers) {
  const auto number = number_++;
  std::int64_t units = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].allowed) units += schedule[i].cost;
  }
  if (best_.size() < kEach) {
    by_units_.emplace(units, best_.size());
    best_.push_back({number, {schedule, answers}});
  } else if (const auto least = *by_units_.begin(); units > least.first) {
    by_units_.erase(by_units_.begin());
    by_units_.emplace(units, least.second);
    best_[least.second] = {number, {schedule, answers}};
  }
  // Every schedule has the same chance: algorithm R (Vitter, "Random Sampling with a Reservoir",
  // 1985).
  if (random_ones_.size() < kEach) {
    random_ones_.push_back({number, {schedule, answers}});
    return;
  }
  const auto place = static_cast<std::size_t>(random_.uniform() * static_cast<double>(number + 1));
  if (place < kEach) random_ones_[place] = {number, {schedule, answers}};
}

std::vector<Answered> SampledTrial::sample() const {
  std::vector<Answered> all;
  std::set<std::int64_t> numbers;
  for (const auto* const some : {&best_, &random_ones_}) {
    for (const auto& kept : *some) {
      if (numbers.insert(kept.number).second) all.push_back(kept.answered);
    }
  }
  return all;
}

}  // namespace rlctl::adversary
