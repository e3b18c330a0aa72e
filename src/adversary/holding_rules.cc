#include "adversary/holding_rules.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;

traffic::HoldRules rules_of(const HoldingSearch& search, microseconds grace) {
  const bool is_budget = search.is_exact && !search.has_leases;
  return {.limit = search.limit,
          .has_leases = search.has_leases,
          .is_budget = is_budget,
          .late = is_budget ? 0us : grace};
}

}  // namespace

// ---- What a schedule shows ----

HoldingScore holding_score_of(const Schedule& schedule, const Answers& answers,
                              const HoldingSearch& search, microseconds grace) {
  std::array<HoldingScore, traffic::kWindowKinds> scores;
  HoldingScore leaks;
  traffic::Holds holds(rules_of(search, grace));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto event = arrival_of(schedule[i]);
    const bool is_taken = holds.add(event, answers[i].allowed);
    for (std::size_t kind = 0; is_taken && kind < holds.window_kinds(); ++kind) {
      const auto used = holds.held() + holds.spent(static_cast<traffic::WindowKind>(kind));
      if (used <= scores[kind].held) continue;
      scores[kind].held = used;
      scores[kind].held_at = i;
    }
    const bool is_denial =
        event.event == traffic::vocabulary_of(event.event).take && !answers[i].allowed;
    if (!is_denial || holds.is_known(event.holder)) continue;
    const auto leaked = search.limit.limit - holds.most_counted() - event.cost + 1;
    if (leaked <= leaks.leaked) continue;
    if (leaks.leaked == 0) leaks.leaked_at = i;
    leaks.leaked = leaked;
  }
  const auto kinds = std::span(scores).first(holds.window_kinds());
  auto score = *std::ranges::min_element(kinds, {}, &HoldingScore::held);
  score.leaked = leaks.leaked;
  score.leaked_at = leaks.leaked_at;
  return score;
}

std::vector<HoldingStep> holding_steps_of(const Schedule& schedule, const Answers& answers,
                                          const HoldingSearch& search) {
  std::vector<HoldingStep> steps;
  std::vector<std::array<std::int64_t, traffic::kWindowKinds>> spent(schedule.size());
  std::array<std::int64_t, traffic::kWindowKinds> most{};
  traffic::Holds holds(rules_of(search, 0us));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto event = arrival_of(schedule[i]);
    const auto note = holds.note_on(event);
    const bool is_taken = holds.add(event, answers[i].allowed);
    steps.push_back({.held = holds.held(), .note = note});
    for (std::size_t kind = 0; kind < holds.window_kinds(); ++kind) {
      spent[i][kind] = holds.spent(static_cast<traffic::WindowKind>(kind));
      if (is_taken) most[kind] = std::max(most[kind], holds.held() + spent[i][kind]);
    }
  }
  if (search.has_leases) return steps;
  const auto kinds = std::span(most).first(holds.window_kinds());
  const auto lowest = static_cast<std::size_t>(std::ranges::min_element(kinds) - kinds.begin());
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].spent = spent[i][lowest];
  return steps;
}

// ---- Rules ----

HoldingRules::HoldingRules(const HoldingSearch& search, std::vector<microseconds> durations)
    : search_(search), durations_(std::move(durations)) {}

void HoldingRules::set_ttls(std::vector<microseconds> ttls) {
  const auto shortest = durations_.front(), tick = search_.tick;
  auto longest = 2 * shortest;
  for (const auto ttl : ttls) longest = std::max(longest, ttl);
  // Whole durations, since a key ends some time after its TTL.
  grace_ = whole((longest / shortest + 1) * shortest + tick - 1us);
  gaps_ = {0us, std::max<microseconds>(1ms, tick), shortest / 2};
  edges_ = {-tick, 0us, tick};
  if (!ttls.empty()) edges_.insert(edges_.end(), {-kTtlMargin, kTtlMargin});
  ttls.insert(ttls.end(), durations_.begin(), durations_.end());
  for (const auto ttl : ttls) {
    for (const auto edge : edges_) gaps_.push_back(std::max(0us, ttl + edge));
  }
  for (auto& gap : gaps_) gap = whole(gap);
  std::sort(gaps_.begin(), gaps_.end());
  gaps_.erase(std::unique(gaps_.begin(), gaps_.end()), gaps_.end());
}

traffic::Holds HoldingRules::ledger_after(const Schedule& schedule, const Answers& answers) const {
  traffic::Holds holds(rules_of(search_, grace_));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    holds.add(arrival_of(schedule[i]), answers[i].allowed);
  }
  return holds;
}

microseconds HoldingRules::gap_of(traffic::Random& random) const {
  return gaps_[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(gaps_.size())))];
}

std::uint32_t last_holder(const Schedule& schedule) {
  std::uint32_t last = 0;
  for (const auto& request : schedule) last = std::max(last, request.holder);
  return last;
}

std::int64_t below(traffic::Random& random, std::int64_t count) {
  return static_cast<std::int64_t>(random.uniform() * static_cast<double>(count));
}

// ---- Building schedules ----

ScheduleBuilder::ScheduleBuilder(const HoldingSearch& search)
    : vocabulary_(search.has_leases ? &traffic::kLeaseVocabulary
                                    : &traffic::kReservationVocabulary),
      at_(search.base),
      hold_(search.has_leases ? 0us : search.hold),
      usual_units_(search.units) {}

ScheduleBuilder& ScheduleBuilder::wait(microseconds time) {
  at_ += time;
  return *this;
}

ScheduleBuilder& ScheduleBuilder::wait_until(microseconds time) {
  at_ = std::max(at_, time);
  return *this;
}

ScheduleBuilder& ScheduleBuilder::reserve(std::int64_t units, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    units_.push_back(units);
    add(vocabulary_->take, last());
  }
  return *this;
}

ScheduleBuilder& ScheduleBuilder::add(traffic::Event event, std::uint32_t holder,
                                      std::int64_t actual) {
  if (holder > last()) units_.resize(holder, usual_units_);
  schedule_.push_back({.at = at_,
                       .cost = units_of(holder),
                       .event = event,
                       .holder = holder,
                       .actual = actual,
                       .hold = hold_});
  return *this;
}

ScheduleBuilder& ScheduleBuilder::each(traffic::Event event, std::uint32_t first,
                                       std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) add(event, first + static_cast<std::uint32_t>(i));
  return *this;
}

ScheduleBuilder& ScheduleBuilder::settle_unknown(std::int64_t units, std::int64_t actual) {
  units_.push_back(units);
  return settle(last(), actual);
}

}  // namespace rlctl::adversary
