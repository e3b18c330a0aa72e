#include "adversary/branching.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rlctl::adversary {

Branching::State StateNumbers::take() {
  if (free_.empty()) return next_++;
  const auto state = free_.back();
  free_.pop_back();
  return state;
}

// --- Models --------------------------------------------------------------------------------------

ModelBranching::ModelBranching(const traffic::Candidate& candidate)
    : limit_(candidate.limits.front()) {
  traffic::require_usable(candidate);
  models_.push_back(candidate.algorithm->make_model());
}

void ModelBranching::ask(std::span<const Branch> branches, std::span<Outcome> outcomes) {
  asked_ += static_cast<std::int64_t>(branches.size());
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto& [from, request, is_kept] = branches[i];
    if (!is_kept) {
      // A refund is always allowed.
      outcomes[i].answer = request.cost < 0
                               ? Answer{.allowed = true}
                               : answer_of(models_[from]->look(limit_, request.cost, request.at));
      continue;
    }
    const auto state = numbers_.take();
    if (models_.size() <= state) models_.resize(state + std::size_t{1});
    models_[state] = models_[from]->clone();
    const limiter::KeyAndLimit key{.key = models_[state].get(), .limit = limit_};
    outcomes[i] = {.answer = answer_of(limiter::decide({&key, 1}, request.cost, request.at)),
                   .state = state};
  }
}

// --- Replays -------------------------------------------------------------------------------------

void ReplayBranching::ask(std::span<const Branch> branches, std::span<Outcome> outcomes) {
  std::vector<Schedule> schedules;
  for (const auto& branch : branches) {
    schedules.push_back(schedules_[branch.from]);
    schedules.back().push_back(branch.request);
    asked_ += static_cast<std::int64_t>(schedules.back().size());
  }
  const auto answers = trial_.ask(schedules);
  const auto contents = trial_.contents();
  for (std::size_t i = 0; i < branches.size(); ++i) {
    outcomes[i].is_chance = answers[i].empty();
    if (outcomes[i].is_chance) continue;
    outcomes[i].answer = answers[i].back();
    if (!branches[i].is_kept) continue;
    outcomes[i].state = numbers_.take();
    schedules_.resize(std::max(schedules_.size(), numbers_.end()));
    schedules_[outcomes[i].state] = std::move(schedules[i]);
    contents_.resize(schedules_.size());
    auto& own = contents_[outcomes[i].state];
    own = i < contents.size() ? contents[i] : "";
    // Unknown contents are like no others.
    if (own.empty()) own = fmt::format("state {}", outcomes[i].state);
  }
}

}  // namespace rlctl::adversary
