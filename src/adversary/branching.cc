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

void ModelBranching::ask(std::span<Branch> branches) {
  asked_ += static_cast<std::int64_t>(branches.size());
  for (auto& branch : branches) {
    const auto [at, cost] = branch.request;
    if (!branch.is_kept) {
      // A refund is always allowed.
      branch.answer = cost < 0 ? Answer{.allowed = true}
                               : answer_of(models_[branch.from]->look(limit_, cost, at));
      continue;
    }
    branch.state = numbers_.take();
    if (models_.size() <= branch.state) models_.resize(branch.state + std::size_t{1});
    auto& model = models_[branch.state];
    model = models_[branch.from]->clone();
    const limiter::KeyAndLimit key{.key = model.get(), .limit = limit_};
    branch.answer = answer_of(limiter::decide({&key, 1}, cost, at));
  }
}

// --- Replays -------------------------------------------------------------------------------------

void ReplayBranching::ask(std::span<Branch> branches) {
  std::vector<Schedule> schedules;
  for (const auto& branch : branches) {
    schedules.push_back(schedules_[branch.from]);
    schedules.back().push_back(branch.request);
    asked_ += static_cast<std::int64_t>(schedules.back().size());
  }
  const auto answers = trial_.ask(schedules);
  const auto contents = trial_.contents();
  for (std::size_t i = 0; i < branches.size(); ++i) {
    auto& branch = branches[i];
    branch.is_chance = answers[i].empty();
    if (branch.is_chance) continue;
    branch.answer = answers[i].back();
    if (!branch.is_kept) continue;
    branch.state = numbers_.take();
    schedules_.resize(std::max(schedules_.size(), numbers_.end()));
    schedules_[branch.state] = std::move(schedules[i]);
    contents_.resize(schedules_.size());
    auto& own = contents_[branch.state];
    own = i < contents.size() ? contents[i] : "";
    // Unknown contents are like no others.
    if (own.empty()) own = fmt::format("state {}", branch.state);
  }
}

// --- Shared states -------------------------------------------------------------------------------

std::size_t SharedStates::HashOfQuestion::operator()(const Question& question) const noexcept {
  const auto& [from, request] = question;
  auto hash = static_cast<std::uint64_t>(request.at.count()) * 0x9e3779b97f4a7c15U;
  hash ^= (std::uint64_t{from} << 20U) ^ static_cast<std::uint64_t>(request.cost);
  return static_cast<std::size_t>((hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9U);
}

void SharedStates::ask(std::span<Branch> branches) {
  // Beyond this many, states that no schedule uses are dropped.
  constexpr std::size_t kMaxStates = 20'000;
  using Stage = Known::Stage;
  if (states_.size() > kMaxStates) drop_unused();
  std::vector<Known*> all, queue;
  for (const auto& branch : branches) {
    const Question question(branch.from, branch.request);
    auto& known = known_.try_emplace(question, Known{.branch = branch}).first->second;
    all.push_back(&known);
    const bool is_enough = !branch.is_kept || known.branch.is_kept || known.branch.is_chance;
    if (known.stage == Stage::kAnswered && is_enough) continue;
    if (known.stage != Stage::kQueued) queue.push_back(&known);
    known.stage = Stage::kQueued;
    known.branch.is_kept |= branch.is_kept;
  }
  for (std::span<Known* const> rest = queue; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), limiter_.at_once()));
    ask_limiter(some);
    rest = rest.subspan(some.size());
  }
  for (std::size_t i = 0; i < branches.size(); ++i) {
    auto& branch = branches[i];
    branch.answer = all[i]->branch.answer;
    branch.is_chance = all[i]->branch.is_chance;
    if (!branch.is_kept || branch.is_chance) continue;
    branch.state = all[i]->branch.state;
    ++users_[branch.state];
  }
}

void SharedStates::ask_limiter(std::span<Known* const> queue) {
  std::vector<Branch> branches;
  for (const auto* known : queue) branches.push_back(known->branch);
  limiter_.ask(branches);
  questions_ += static_cast<std::int64_t>(branches.size());
  for (std::size_t i = 0; i < queue.size(); ++i) keep(*queue[i], branches[i]);
}

void SharedStates::keep(Known& known, const Branch& answered) {
  known = {.branch = answered, .stage = Known::Stage::kAnswered};
  if (!answered.is_kept || answered.is_chance) return;
  const auto [same, is_new] =
      states_.try_emplace(limiter_.contents_of(answered.state), answered.state);
  if (!is_new) {
    limiter_.keep_earlier(same->second, answered.state);
    limiter_.forget(answered.state);
    known.branch.state = same->second;
    return;
  }
  users_.resize(std::max(users_.size(), answered.state + std::size_t{1}));
  users_[answered.state] = 0;
}

void SharedStates::drop_unused() {
  const auto is_unused = [&](State state) { return state != kEmpty && users_[state] == 0; };
  std::erase_if(known_, [&](const auto& entry) {
    const auto& branch = entry.second.branch;
    return is_unused(branch.from) || (branch.is_kept && is_unused(branch.state));
  });
  std::erase_if(states_, [&](const auto& entry) {
    const auto state = entry.second;
    if (!is_unused(state)) return false;
    limiter_.forget(state);
    return true;
  });
}

}  // namespace rlctl::adversary
