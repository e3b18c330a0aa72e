#include "adversary/shared_states.h"

#include <algorithm>

namespace rlctl::adversary {
namespace {

/// Beyond this many, states that no schedule uses are dropped.
constexpr std::size_t kMaxStates = 20'000;

}  // namespace

std::size_t SharedStates::HashOfQuestion::operator()(const Question& question) const noexcept {
  auto hash = static_cast<std::uint64_t>(question.request.at.count()) * 0x9e3779b97f4a7c15U;
  hash ^= (std::uint64_t{question.from} << 20U) ^ static_cast<std::uint64_t>(question.request.cost);
  return static_cast<std::size_t>((hash ^ (hash >> 29U)) * 0xbf58476d1ce4e5b9U);
}

void SharedStates::ask(std::span<const Branch> branches, std::span<Outcome> outcomes) {
  using Stage = Known::Stage;
  if (states_.size() > kMaxStates) drop_unused();
  std::vector<Entry*> entries, queue;
  for (const auto& [from, request, is_kept] : branches) {
    auto& entry = *known_.try_emplace({from, request}).first;
    auto& known = entry.second;
    entries.push_back(&entry);
    const bool is_enough = !is_kept || known.is_kept || known.outcome.is_chance;
    if (known.stage == Stage::kAnswered && is_enough) continue;
    if (known.stage != Stage::kQueued) queue.push_back(&entry);
    known.stage = Stage::kQueued;
    known.is_kept |= is_kept;
  }
  for (std::span<Entry* const> rest = queue; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), limiter_.at_once()));
    ask_limiter(some);
    rest = rest.subspan(some.size());
  }
  for (std::size_t i = 0; i < branches.size(); ++i) {
    outcomes[i] = entries[i]->second.outcome;
    if (!branches[i].is_kept || outcomes[i].is_chance) {
      outcomes[i].state = kEmpty;
    } else {
      ++users_[outcomes[i].state];
    }
  }
}

void SharedStates::ask_limiter(std::span<Entry* const> queue) {
  std::vector<Branch> branches;
  for (const auto* entry : queue) {
    const auto& [question, known] = *entry;
    branches.push_back(
        {.from = question.from, .request = question.request, .is_kept = known.is_kept});
  }
  std::vector<Outcome> outcomes(branches.size());
  limiter_.ask(branches, outcomes);
  questions_ += static_cast<std::int64_t>(branches.size());
  for (std::size_t i = 0; i < queue.size(); ++i) keep(queue[i]->second, outcomes[i]);
}

void SharedStates::keep(Known& known, const Outcome& outcome) {
  known.outcome = outcome;
  known.stage = Known::Stage::kAnswered;
  if (!known.is_kept || outcome.is_chance) return;
  const auto [same, is_new] =
      states_.try_emplace(limiter_.contents_of(outcome.state), outcome.state);
  if (!is_new) {
    limiter_.keep_earlier(same->second, outcome.state);
    limiter_.forget(outcome.state);
    known.outcome.state = same->second;
    return;
  }
  users_.resize(std::max(users_.size(), outcome.state + std::size_t{1}));
  users_[outcome.state] = 0;
}

void SharedStates::drop_unused() {
  const auto is_unused = [&](State state) { return state != kEmpty && users_[state] == 0; };
  std::erase_if(known_, [&](const Entry& entry) {
    const auto& [question, known] = entry;
    return is_unused(question.from) || (known.is_kept && is_unused(known.outcome.state));
  });
  std::erase_if(states_, [&](const auto& entry) {
    const auto state = entry.second;
    if (!is_unused(state)) return false;
    limiter_.forget(state);
    return true;
  });
}

}  // namespace rlctl::adversary
