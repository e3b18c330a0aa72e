#include "adversary/holding_rules.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;

simulation::HoldRules rules_of(const HoldingSearch& search, microseconds grace) {
  const bool is_budget = search.is_exact && !search.has_leases;
  return {.limit = search.limit,
          .has_leases = search.has_leases,
          .is_budget = is_budget,
          .late = is_budget ? 0us : grace};
}

void sort_distinct(std::vector<microseconds>& times) {
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
}

/// Numbers the holders in the order in which they come.
Schedule renumbered(Schedule schedule) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (auto& request : schedule) {
    const auto next = static_cast<std::uint32_t>(numbers.size() + 1);
    request.holder = numbers.try_emplace(request.holder, next).first->second;
  }
  return schedule;
}

/// The schedule without the events of each holder, then without each event.
std::vector<Schedule> without_some(const Schedule& schedule) {
  std::vector<Schedule> all;
  for (std::uint32_t holder = 1; holder <= last_holder(schedule); ++holder) {
    all.push_back(schedule);
    if (std::erase_if(all.back(), [&](const Request& each) { return each.holder == holder; }) == 0)
      all.pop_back();
  }
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    all.push_back(schedule);
    all.back().erase(all.back().begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

// ---- What a schedule shows ----

/// What a schedule shows, and each of its events.
struct Followed {
  HoldingScore score = {};
  std::vector<HoldingStep> steps = {};
};
Followed follow(const Schedule& schedule, const Answers& answers, const HoldingSearch& search,
                microseconds grace) {
  using ByKind = std::array<std::int64_t, simulation::kWindowKinds>;
  std::array<HoldingScore, simulation::kWindowKinds> scores;
  std::vector<ByKind> spent(schedule.size());
  Followed followed;
  auto& [score, steps] = followed;
  simulation::Holds holds(rules_of(search, grace));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto event = arrival_of(schedule[i]);
    const auto note = holds.note_on(event);
    const bool is_taken = holds.add(event, answers[i].allowed);
    steps.push_back({.held = holds.held(), .note = note});
    for (std::size_t kind = 0; kind < holds.window_kinds(); ++kind) {
      spent[i][kind] = holds.spent(static_cast<simulation::WindowKind>(kind));
      const auto used = holds.held() + spent[i][kind];
      if (is_taken && used > scores[kind].held) scores[kind] = {.held = used, .held_at = i};
    }
    const bool is_denial =
        event.event == simulation::vocabulary_of(event.event).take && !answers[i].allowed;
    if (!is_denial || holds.is_known(event.holder)) continue;
    const auto leaked = search.limit.limit - holds.most_counted() - event.cost + 1;
    if (leaked > 0 && score.leaked == 0) score.leaked_at = i;
    score.leaked = std::max(score.leaked, leaked);
  }
  const auto kinds = std::span(scores).first(holds.window_kinds());
  const auto lowest = std::ranges::min_element(kinds, {}, &HoldingScore::held);
  score.held = lowest->held;
  score.held_at = lowest->held_at;
  if (search.has_leases) return followed;
  const auto kind = static_cast<std::size_t>(lowest - kinds.begin());
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].spent = spent[i][kind];
  return followed;
}

}  // namespace

HoldingScore holding_score_of(const Schedule& schedule, const Answers& answers,
                              const HoldingSearch& search, microseconds grace) {
  return follow(schedule, answers, search, grace).score;
}

std::vector<HoldingStep> holding_steps_of(const Schedule& schedule, const Answers& answers,
                                          const HoldingSearch& search) {
  return follow(schedule, answers, search, 0us).steps;
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
  sort_distinct(gaps_);
}

simulation::Holds HoldingRules::ledger_after(const Schedule& schedule,
                                             const Answers& answers) const {
  simulation::Holds holds(rules_of(search_, grace_));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    holds.add(arrival_of(schedule[i]), answers[i].allowed);
  }
  return holds;
}

bool HoldingRules::shows(bool is_leak, Schedule& schedule, Answers& answers) const {
  const auto score = score_of(schedule, answers);
  if (is_leak ? score.leaked == 0 : score.held <= search_.limit.limit) return false;
  const auto length = (is_leak ? score.leaked_at : score.held_at) + 1;
  schedule.resize(length);
  answers.resize(length);
  return true;
}

std::vector<Schedule> HoldingRules::next_known() {
  return std::exchange(gave_known_, true) ? std::vector<Schedule>{} : known_schedules();
}

void HoldingRules::judge(Schedule schedule, Answers answers) {
  const auto score = score_of(schedule, answers);
  result_.held = std::max(result_.held, score.held);
  result_.leaked = std::max(result_.leaked, score.leaked);
  if (score.held > search_.limit.limit) {
    keep(result_.overfilled, score.held_at + 1, schedule, answers);
  }
  if (score.leaked > 0) {
    keep(result_.leak, score.leaked_at + 1, std::move(schedule), std::move(answers));
  }
}

/// Keeps the first events of a schedule, as many as show the finding, unless the known finding has
/// as few.
void HoldingRules::keep(std::optional<HoldingFinding>& known, std::size_t events, Schedule schedule,
                        Answers answers) const {
  if (known && known->schedule.size() <= events) return;
  schedule.resize(events);
  answers.resize(events);
  const auto score = score_of(schedule, answers);
  known = {std::move(schedule), std::move(answers), score};
}

std::vector<Request> HoldingRules::requests_after(const Schedule& schedule,
                                                  const Answers& answers) const {
  std::vector<microseconds> times{search_.base};
  if (!schedule.empty()) times = times_after(schedule, answers);
  sort_distinct(times);
  const auto events = events_after(schedule);
  std::vector<Request> requests;
  for (const auto at : times) {
    for (auto event : events) {
      event.at = at;
      requests.push_back(event);
    }
  }
  return requests;
}

std::string HoldingRules::state_key(const Schedule& schedule, const Answers& answers) const {
  return std::to_string(schedule.back().at.count()) + '|' + std::to_string(last_holder(schedule)) +
         '|' + ledger_after(schedule, answers).state_key();
}

void HoldingRules::simplify(Shrinking& finding) const {
  const auto take_first_of = [&](std::vector<Schedule> candidates) {
    for (auto& schedule : candidates) schedule = renumbered(std::move(schedule));
    return finding.take_first_of(std::move(candidates));
  };
  for (bool is_simpler = true; is_simpler;) {
    is_simpler = take_first_of(without_some(finding.schedule()));
    is_simpler |= take_first_of(simpler(finding.schedule()));
    for (std::size_t i = 1; i < finding.schedule().size(); ++i) {
      is_simpler |= take_first_of(with_smaller_gap(finding.schedule(), i));
    }
  }
}

/// The schedule in which this event comes sooner after the one before it, and all that follow,
/// too; then the same without those.
std::vector<Schedule> HoldingRules::with_smaller_gap(const Schedule& schedule,
                                                     std::size_t event) const {
  const auto gap = schedule[event].at - schedule[event - 1].at;
  std::vector<microseconds> gaps(gaps_.begin(), gaps_.end());
  const auto shortest = durations_.front();
  for (int times = 2; times * shortest < gap && times <= 8; ++times) {
    gaps.push_back(times * shortest);
  }
  std::vector<Schedule> all;
  for (const auto smaller : gaps) {
    if (smaller >= gap) continue;
    for (const bool moves_all : {true, false}) {
      all.push_back(schedule);
      const auto last = moves_all ? schedule.size() : event + 1;
      for (auto i = event; i < last; ++i) all.back()[i].at -= gap - smaller;
    }
  }
  return all;
}

microseconds HoldingRules::gap_of(traffic::Random& random) const {
  return gaps_[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(gaps_.size())))];
}

std::int64_t below(traffic::Random& random, std::int64_t count) {
  return static_cast<std::int64_t>(random.uniform() * static_cast<double>(count));
}

// ---- Building schedules ----

ScheduleBuilder::ScheduleBuilder(const HoldingSearch& search)
    : vocabulary_(search.has_leases ? &simulation::kLeaseVocabulary
                                    : &simulation::kReservationVocabulary),
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
