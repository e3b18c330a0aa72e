#include "limiter/budget_model.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace rlctl::limiter {

namespace {

/// The most units that a key counts as spent: 48 bits.
constexpr std::int64_t kMostSpent = (std::int64_t{1} << 48) - 1;

std::int64_t held_at(const Budget& budget, microseconds t) {
  std::int64_t held = 0;
  for (const auto& [id, its] : budget.reservations) {
    if (its.state_at(t) == ReservationState::kHeld) held += its.units;
  }
  return held;
}

/// When the window ends, or holds do.
microseconds wait_for_room(const Budget& budget, const Limit& limit, std::int64_t cost) {
  std::vector<microseconds> times{budget.end};
  for (const auto& [id, its] : budget.reservations) {
    if (its.state_at(budget.written_at) == ReservationState::kHeld) times.push_back(its.held_until);
  }
  std::ranges::sort(times);
  for (const auto time : times) {
    const auto spent = time < budget.end ? budget.spent : 0;
    if (spent + held_at(budget, time) + cost <= limit.limit) return time;
  }
  return budget.end;
}

/// The reply for this state, in which `cost` units more are asked for.
Decision decision_of(const Budget& budget, const Limit& limit, std::int64_t cost,
                     microseconds now) {
  Decision decision;
  const auto used = budget.spent + held_at(budget, budget.written_at);
  decision.allowed = cost == 0 || used + cost <= limit.limit;
  decision.remaining = std::max<std::int64_t>(0, limit.limit - used);
  if (budget.spent > 0) decision.reset_after = budget.end - now;
  for (const auto& [id, its] : budget.reservations) {
    decision.reset_after = std::max(decision.reset_after, its.forgotten_at - now);
  }
  if (!decision.allowed) {
    decision.retry_after = cost > limit.limit ? kNever : wait_for_room(budget, limit, cost) - now;
  }
  return decision;
}

}  // namespace

ReservationState Reservation::state_at(microseconds t) const {
  if (forgotten_at <= t) return ReservationState::kUnknown;
  if (is_settled) return ReservationState::kSettled;
  return held_until > t ? ReservationState::kHeld : ReservationState::kLapsed;
}

/// The state at `now`, or at the latest write if the clock has stepped back before it.
Budget BudgetModel::at(const Limit& limit, microseconds now) const {
  Budget budget = stored_.value_or(Budget{});
  budget.written_at = std::max(budget.written_at, now);
  const auto t = budget.written_at;
  std::erase_if(budget.reservations, [&](const auto& row) { return row.second.forgotten_at <= t; });
  // Without units and IDs, the key is as if it were not there.
  if (t >= budget.end || (budget.spent == 0 && budget.reservations.empty())) {
    budget.end = period_of(limit, t).end;
    budget.spent = 0;
  }
  return budget;
}

/// The state at `now` for units that this limit takes: its window is in force if it ends later. A
/// settle does not extend the window, since it may come from a caller that knows no limit.
Budget BudgetModel::extended(const Limit& limit, microseconds now) const {
  auto budget = at(limit, now);
  budget.end = std::max(budget.end, period_of(limit, now).end);
  return budget;
}

void BudgetModel::store(Budget budget) {
  if (budget.spent == 0 && budget.reservations.empty()) {
    stored_.reset();
  } else {
    stored_ = std::move(budget);
  }
}

Decision BudgetModel::peek(const Limit& limit, std::int64_t cost, microseconds now) const {
  return decision_of(at(limit, now), limit, cost, now);
}

Usage BudgetModel::usage(const Limit& limit, microseconds now) const {
  const auto budget = at(limit, now);
  const auto used = budget.spent + held_at(budget, budget.written_at);
  return {.units = used, .exact = static_cast<double>(used)};
}

void BudgetModel::record(const Limit& limit, std::int64_t cost, microseconds now) {
  auto budget = extended(limit, now);
  budget.spent += cost;
  store(std::move(budget));
}

void BudgetModel::refund(const Limit& limit, std::int64_t units, microseconds now) {
  auto budget = at(limit, now);
  budget.spent = std::max<std::int64_t>(0, budget.spent - units);
  store(std::move(budget));
}

ReservationState BudgetModel::state_of(std::string_view id, microseconds now) const {
  const auto* found = find(id, now);
  if (found == nullptr) return ReservationState::kUnknown;
  return found->state_at(std::max(stored_->written_at, now));
}

const Reservation* BudgetModel::find(std::string_view id, microseconds now) const {
  if (!stored_) return nullptr;
  const auto found = stored_->reservations.find(id);
  if (found == stored_->reservations.end()) return nullptr;
  const auto& its = found->second;
  return its.forgotten_at > std::max(stored_->written_at, now) ? &its : nullptr;
}

Decision BudgetModel::peek_reserve(const Limit& limit, std::int64_t units, microseconds now) const {
  const auto budget = at(limit, now);
  auto decision = decision_of(budget, limit, units, now);
  if (budget.reservations.size() < kMostReservations) return decision;
  // Full: others can be forgotten, unless all are held.
  auto first = microseconds::max();
  for (const auto& [id, its] : budget.reservations) {
    if (its.state_at(budget.written_at) != ReservationState::kHeld) return decision;
    first = std::min(first, its.held_until);
  }
  if (decision.retry_after != kNever) {
    decision.retry_after = std::max(decision.retry_after, first - now);
  }
  decision.allowed = false;
  return decision;
}

void BudgetModel::record_reserve(const Limit& limit, std::string_view id, std::int64_t units,
                                 microseconds hold, microseconds now) {
  auto budget = extended(limit, now);
  if (budget.reservations.size() >= kMostReservations) {
    const auto is_held = [&](const Reservation& its) {
      return its.state_at(budget.written_at) == ReservationState::kHeld;
    };
    std::vector<microseconds> ended;
    for (const auto& [its_id, its] : budget.reservations) {
      if (!is_held(its)) ended.push_back(its.forgotten_at);
    }
    std::ranges::sort(ended);
    const auto latest = ended[std::min(ended.size(), kForgottenAtOnce) - 1];
    std::erase_if(budget.reservations, [&](const auto& row) {
      return row.second.forgotten_at <= latest && !is_held(row.second);
    });
  }
  const auto until = budget.written_at + hold;
  budget.reservations[std::string(id)] = {
      .units = units, .held_until = until, .forgotten_at = until + hold};
  store(std::move(budget));
}

void BudgetModel::record_settle(const Limit& limit, std::string_view id, std::int64_t actual,
                                microseconds now) {
  auto budget = at(limit, now);
  auto& its = budget.reservations.at(std::string(id));
  its.is_settled = true;
  its.units = actual;
  budget.spent = std::min(budget.spent + actual, kMostSpent);
  store(std::move(budget));
}

namespace {

/// The part of a decision that is about the reservation.
struct Standing {
  ReservationState state = ReservationState::kUnknown;
  std::int64_t units = 0;
  microseconds hold{0};

  Decision with(Decision decision) const {
    decision.reservation = state;
    decision.units = units;
    decision.hold = hold;
    return decision;
  }
};

Standing standing_on(const BudgetModel& key, std::string_view id, microseconds now) {
  const auto* its = key.find(id, now);
  if (its == nullptr) return {};
  return {.state = key.state_of(id, now), .units = its->units, .hold = its->hold()};
}

/// Unknown if one of the keys does not know the reservation, and settled only if all say so.
Standing standing_on(std::span<const BudgetAndLimit> keys, std::string_view id, microseconds now) {
  Standing merged{.state = ReservationState::kSettled};
  for (const auto& [key, limit] : keys) {
    const auto its = standing_on(*key, id, now);
    if (merged.state == ReservationState::kSettled || its.state == ReservationState::kUnknown) {
      merged = its;
    }
  }
  return merged;
}

/// The denial that never ends, whatever its reason.
Decision refusal(std::span<const BudgetAndLimit> keys, microseconds now) {
  auto decision = decide(keys, 0, now);
  decision.allowed = false;
  decision.retry_after = kNever;
  return decision;
}

/// The reply if one of the keys knows the reservation with other units, or, for a settle, settled
/// with another cost.
std::optional<Decision> conflict(std::span<const BudgetAndLimit> keys, std::string_view id,
                                 std::int64_t units, bool settles, microseconds now) {
  for (const auto& [key, limit] : keys) {
    const auto* its = key->find(id, now);
    if (its == nullptr || its->is_settled != settles || its->units == units) continue;
    return standing_on(*key, id, now).with(refusal(keys, now));
  }
  return std::nullopt;
}

}  // namespace

Decision decide(std::span<const BudgetAndLimit> keys, std::int64_t cost, microseconds now) {
  std::vector<KeyAndLimit> all;
  for (const auto& [key, limit] : keys) all.push_back({key, limit});
  return decide(all, cost, now);
}

Decision reserve(std::span<const BudgetAndLimit> keys, std::string_view id, std::int64_t units,
                 microseconds hold, microseconds now) {
  if (auto refused = conflict(keys, id, units, false, now)) return *refused;
  auto standing = standing_on(keys, id, now);
  Decision decision{.allowed = true, .remaining = INT64_MAX};
  int number = 0;
  for (const auto& [key, limit] : keys) {
    const bool is_new = key->find(id, now) == nullptr;
    merge(decision, is_new ? key->peek_reserve(limit, units, now) : key->peek(limit, 0, now),
          ++number);
  }
  if (!decision.allowed) return standing.with(decision);
  for (const auto& [key, limit] : keys) {
    if (key->find(id, now) != nullptr) continue;
    key->record_reserve(limit, id, units, hold, now);
    standing = {.state = ReservationState::kHeld, .units = units, .hold = hold};
  }
  return standing.with(decide(keys, 0, now));
}

Decision settle(std::span<const BudgetAndLimit> keys, std::string_view id, std::int64_t actual,
                microseconds now) {
  auto standing = standing_on(keys, id, now);
  if (standing.state == ReservationState::kUnknown) return standing.with(refusal(keys, now));
  if (auto refused = conflict(keys, id, actual, true, now)) return *refused;
  for (const auto& [key, limit] : keys) {
    if (!key->find(id, now)->is_settled) key->record_settle(limit, id, actual, now);
  }
  standing.units = actual;
  return standing.with(decide(keys, 0, now));
}

}  // namespace rlctl::limiter
