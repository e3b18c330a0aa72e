#include "traffic/spending.h"

#include <algorithm>
#include <utility>

#include "traffic/follow_ups.h"
#include "traffic/pattern.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;

/// The keys that are drawn, those that are asked for all units at the end, and the most
/// reservations of such a key.
constexpr std::uint32_t kSpendersDrawn = 1'000;
constexpr std::size_t kSpendersProbed = 100;
constexpr std::int64_t kMostReserved = 400;

/// Removes the holds that end by `now`.
void drop_ended(std::multimap<microseconds, std::int64_t>& holds, std::int64_t& units,
                microseconds now) {
  while (!holds.empty() && holds.begin()->first <= now) {
    units -= holds.begin()->second;
    holds.erase(holds.begin());
  }
}

/// Removes a hold of these units with this end, if it is still there.
void drop_hold(std::multimap<microseconds, std::int64_t>& holds, std::int64_t& sum,
               microseconds end, std::int64_t units) {
  const auto [first, last] = holds.equal_range(end);
  const auto found =
      std::find_if(first, last, [&](const auto& hold) { return hold.second == units; });
  if (found == last) return;
  sum -= units;
  holds.erase(found);
}

}  // namespace

// ---- Measuring ----

/// The window in force at `now`. A window that does not follow the clock begins later, when it is
/// used.
void SpendMeasurement::roll(Window& window, WindowKind kind, microseconds now) const {
  if (now < window.end) return;
  window.spent = 0;
  if (kind != kOfClock) return;
  const auto period = period_of(rules_.limit, now);
  window.begin = period.start;
  window.end = period.end;
}

/// The key as of `now`, when some holds and windows have ended.
SpendMeasurement::Key& SpendMeasurement::at(std::uint32_t number, microseconds now) {
  if (number >= keys_.size()) keys_.resize(number + std::size_t{1});
  auto& key = keys_[number];
  // Each end is a step of its own in the picture.
  while (number < kSpendersDrawn) {
    auto next = key.held.empty() ? now : std::min(now, key.held.begin()->first);
    const auto& window = key.windows[kOfClock];
    if (window.spent > 0) next = std::min(next, window.end);
    if (next >= now) break;
    drop_ended(key.held, key.units_held, next);
    roll(key.windows[kOfClock], kOfClock, next);
    draw(key, number, next);
  }
  drop_ended(key.held, key.units_held, now);
  drop_ended(key.perhaps_held, key.units_perhaps_held, now);
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    roll(key.windows[kind], static_cast<WindowKind>(kind), now);
  }
  const auto from = now - rules_.limit.window - rules_.tick;
  while (!key.recent.empty() && key.recent.front().first <= from) {
    key.units_recent -= key.recent.front().second;
    key.recent.pop_front();
  }
  return key;
}

/// Of a limiter whose clock is coarse, nothing is certain near the ends of a window.
std::int64_t SpendMeasurement::spent_surely(const Key& key, WindowKind kind,
                                            microseconds now) const {
  const auto& window = key.windows[kind];
  return window.end - now <= rules_.tick ? 0 : window.spent;
}

std::int64_t SpendMeasurement::used_perhaps(const Key& key) const {
  const auto spent = rules_.has_clock_windows ? key.windows[kOfClock].spent : key.units_recent;
  return spent + key.units_perhaps_held;
}

std::int64_t SpendMeasurement::free_units(std::uint32_t key, microseconds now) {
  return std::max<std::int64_t>(0, rules_.limit.limit - used_perhaps(at(key, now)));
}

void SpendMeasurement::draw(const Key& key, std::uint32_t number, microseconds now) {
  if (number >= kSpendersDrawn || !has_traffic_) return;
  if (number >= series_.size()) series_.resize(number + std::size_t{1});
  series_[number].add(now, key.windows[kOfClock].spent + key.units_held);
}

void SpendMeasurement::add(const Arrival& arrival, bool allowed) {
  auto& key = at(arrival.key, arrival.at);
  if (arrival.event == Event::kSettle) {
    settle(key, arrival, allowed);
  } else if (!allowed) {
    deny(key, arrival);
  } else {
    key.last_asked = arrival.at;
    if (key.starved_since) end_starved(key, arrival.at);
    reserve(key, arrival);
  }
  draw(key, arrival.key, arrival.at);
}

void SpendMeasurement::reserve(Key& key, const Arrival& arrival) {
  const auto until = arrival.at + arrival.hold;
  const auto perhaps_until = until + rules_.tick;
  reservations_[arrival.holder] = {.units = arrival.cost,
                                   .until = until,
                                   .perhaps_until = perhaps_until,
                                   .forgotten_at = until + arrival.hold};
  key.held.emplace(until - rules_.tick, arrival.cost);
  key.units_held += arrival.cost;
  key.perhaps_held.emplace(perhaps_until, arrival.cost);
  key.units_perhaps_held += arrival.cost;
  end_of_holds_ = std::max(end_of_holds_, perhaps_until);
  note_allowed(key, arrival.key, arrival.at);
}

void SpendMeasurement::settle(Key& key, const Arrival& arrival, bool allowed) {
  const auto found = reservations_.find(arrival.holder);
  // Nothing is spent of what was not reserved, or is settled already.
  if (found == reservations_.end() || found->second.is_settled) return;
  auto& its = found->second;
  const auto now = arrival.at;
  const bool is_late = now >= its.until;
  if (!allowed) {
    ++*found_.refused;
    if (now < its.until - rules_.tick) ++*found_.refused_while_held;
    return;
  }
  ++found_.finished;
  if (is_late) ++found_.late;
  its.is_settled = true;
  const auto held_before = key.units_held;
  drop_hold(key.held, key.units_held, its.until - rules_.tick, its.units);
  drop_hold(key.perhaps_held, key.units_perhaps_held, its.perhaps_until, its.units);
  // Later, the limiter may not know it any more.
  const bool is_certain = now < its.forgotten_at - rules_.tick;
  spend(key, arrival.actual, now, is_certain);
  if (!is_certain || key.units_held + arrival.actual <= held_before) return;
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    auto& of_kind = exceeded_[kind];
    const auto used = spent_surely(key, static_cast<WindowKind>(kind), now) + key.units_held;
    of_kind.overspent = std::max(of_kind.overspent, used - rules_.limit.limit);
  }
}

void SpendMeasurement::spend(Key& key, std::int64_t units, microseconds now, bool is_certain) {
  if (!rules_.has_clock_windows) {
    key.recent.emplace_back(now, units);
    key.units_recent += units;
  }
  if (!is_certain) return;
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    auto& window = key.windows[kind];
    const bool may_begin = kind != kFromSpent || units > 0;
    const bool begins = now >= window.end && may_begin;
    if (begins) window = {.begin = now, .end = now + rules_.limit.window};
    const bool is_first = begins || kind == kFromSettle || kind == kFromSpent;
    if (is_first || now - window.begin >= rules_.tick) window.spent += units;
  }
}

/// Whether units are free after this was allowed, which it must be in some kind of windows.
void SpendMeasurement::note_allowed(Key& key, std::uint32_t number, microseconds now) {
  if (auto& window = key.windows[kFromFirst]; !rules_.has_clock_windows && now >= window.end) {
    window = {.begin = now, .end = now + rules_.limit.window};
  }
  for (std::size_t kind = 0; kind < kinds(); ++kind) {
    const UnitsUsed used{.spent = spent_surely(key, static_cast<WindowKind>(kind), now),
                         .held = key.units_held,
                         .key = number,
                         .at = now};
    auto& of_kind = exceeded_[kind];
    const auto excess = used.both() - rules_.limit.limit;
    if (!has_traffic_) {
      of_kind.at_end = std::max(of_kind.at_end, excess);
      continue;
    }
    if (excess > 0) ++of_kind.times;
    if (used.both() > of_kind.most.both()) of_kind.most = used;
  }
}

void SpendMeasurement::deny(Key& key, const Arrival& arrival) {
  key.last_asked = arrival.at;
  const auto free = rules_.limit.limit - used_perhaps(key);
  if (free < arrival.cost) return;
  ++found_.starved;
  note_leak(free);
  if (!key.starved_since) key.starved_since = arrival.at;
}

void SpendMeasurement::end_starved(Key& key, microseconds now) {
  found_.longest_starved = std::max(found_.longest_starved, now - *key.starved_since);
  key.starved_since.reset();
}

HolderReport SpendMeasurement::finish(std::optional<EndProbe> end) {
  for (auto& key : keys_) {
    if (key.starved_since) end_starved(key, key.last_asked);
  }
  const auto highest = [&](const Exceeded& of_kind) {
    const auto at_end = of_kind.at_end > 0 ? rules_.limit.limit + of_kind.at_end : 0;
    return std::max(of_kind.most.both(), at_end);
  };
  const auto best = std::min_element(
      exceeded_.begin(), exceeded_.begin() + static_cast<std::ptrdiff_t>(kinds()),
      [&](const auto& one, const auto& other) { return highest(one) < highest(other); });
  found_.most = found_.most_ever = best->most;
  found_.exceeded = best->times;
  found_.overspent = best->overspent;
  if (end) end->too_many = best->at_end;
  found_.end = end;
  if (found_.most.key < series_.size()) found_.steps = series_[found_.most.key].take();
  return found_;
}

// ---- The events ----

namespace {

/// What a holder does next. The order of the rows is that at equal times.
enum Spending { kSettles, kReserves };

/// Who has a reservation, or asks for one.
struct Spender {
  std::uint32_t key = 0;
  std::int64_t actual = 0;
  microseconds settles_at{0};
  bool dies = false;
};

class SpendingRun final : public FollowUps {
 public:
  SpendingRun(Traffic& traffic, Decider& decider, const SpendRules& rules, const SpendPlan& plan,
              const OnDecision& on_decision, std::optional<microseconds> zero)
      : FollowUps(traffic, decider, rules.limit, on_decision, zero),
        rules_(rules),
        plan_(plan),
        // Not the numbers of the pattern.
        random_(plan.seed + 0x9E3779B97F4A7C15U),
        measurement_(rules) {}

  HolderOutcome run(const Interrupt& interrupt, const OnProgress& on_progress) {
    bool is_interrupted = !FollowUps::run(interrupt, on_progress);
    std::optional<EndProbe> end;
    if (!is_interrupted) end = probe(is_interrupted);
    HolderOutcome result{.outcome = finish(is_interrupted), .report = measurement_.finish(end)};
    result.report.died = died_;
    return result;
  }

 private:
  /// The same numbers are drawn whatever they decide.
  Step begin(std::uint32_t holder, const Arrival& request) override {
    const auto cost = random_.uniform(), time = random_.exponential(), fate = random_.uniform();
    const auto least = plan_.least_actual.value_or(plan_.units);
    const auto range = plan_.most_actual.value_or(least) - least + 1;
    const auto after = plan_.is_exponential ? scaled(plan_.settle_after, time) : plan_.settle_after;
    const auto settles_at = request.at + after;
    spenders_[holder] = {
        .key = request.key,
        .actual = least + static_cast<std::int64_t>(cost * static_cast<double>(range)),
        .settles_at = settles_at,
        .dies = fate < plan_.crash_share};
    return {.at = request.at, .act = kReserves, .holder = holder};
  }
  microseconds next_after(const Step& step) const override {
    const auto& spender = spenders_.at(step.holder);
    if (step.act == kReserves && !spender.dies) return spender.settles_at;
    return microseconds::max();
  }
  std::optional<Arrival> event_of(const Step& step) const override {
    const auto& spender = spenders_.at(step.holder);
    const bool settles = step.act == kSettles;
    return Arrival{.at = step.at,
                   .key = spender.key,
                   .event = settles ? Event::kSettle : Event::kReserve,
                   .cost = plan_.units,
                   .holder = step.holder,
                   .actual = settles ? spender.actual : 0,
                   .hold = plan_.hold};
  }
  void take(const Step& step, const Decision& decision) override {
    const auto arrival = *event_of(step);
    measurement_.add(arrival, decision.allowed);
    const auto settles_at = next_after(step);
    if (step.act == kReserves && decision.allowed) {
      if (settles_at != microseconds::max()) {
        return follow_with({settles_at, kSettles, step.holder});
      }
      ++died_;
    }
    spenders_.erase(step.holder);
  }

  /// Asks for all units that should be free when all holds have ended, and again when what was
  /// spent is forgotten too.
  std::optional<EndProbe> probe(bool& is_interrupted) {
    const auto room = rules_.limit.limit / plan_.units;
    if (measurement_.keys() == 0 || room > kMostReserved) return std::nullopt;
    measurement_.end_traffic();
    EndProbe end{.keys = static_cast<std::int64_t>(std::min(measurement_.keys(), kSpendersProbed))};
    const auto first = std::max(measurement_.end_of_holds(), now()) + rules_.tick;
    const auto second =
        first + 2 * std::max({rules_.limit.window, plan_.hold, microseconds{rules_.tick}});
    end.after = second - now();
    for (const auto at : {first, second}) {
      is_interrupted = !probe_at(at, end);
      if (is_interrupted) return std::nullopt;
    }
    return end;
  }
  /// False if it was interrupted.
  bool probe_at(microseconds at, EndProbe& end) {
    std::vector<Arrival> arrivals;
    std::vector<std::int64_t> free;  // by key
    const auto ask_for = [&](std::uint32_t key, std::int64_t units) {
      arrivals.push_back({.at = at,
                          .key = key,
                          .event = Event::kReserve,
                          .cost = units,
                          .holder = new_holder(),
                          .hold = plan_.hold});
    };
    for (std::uint32_t key = 0; key < static_cast<std::uint32_t>(end.keys); ++key) {
      free.push_back(measurement_.free_units(key, at));
      for (std::int64_t i = 0; i < free.back() / plan_.units; ++i) ask_for(key, plan_.units);
      // By halves, which find what is left to the unit, and one more.
      for (auto units = plan_.units; units > 1;) ask_for(key, units -= units / 2);
      ask_for(key, 1);
    }
    const auto decisions = ask(arrivals);
    if (decisions.empty()) return false;
    std::vector<std::int64_t> got(free.size());
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      if (!decisions[i].allowed) continue;
      measurement_.add(arrivals[i], true);
      got[arrivals[i].key] += arrivals[i].cost;
    }
    std::int64_t taken = 0;
    for (std::size_t key = 0; key < free.size(); ++key) {
      const auto lost = std::max<std::int64_t>(0, free[key] - got[key]);
      measurement_.note_leak(lost);
      taken += lost;
    }
    end.taken = std::max(end.taken, taken);
    return true;
  }

  const SpendRules& rules_;
  const SpendPlan& plan_;
  Random random_;
  SpendMeasurement measurement_;
  std::unordered_map<std::uint32_t, Spender> spenders_;
  std::int64_t died_ = 0;
};

}  // namespace

HolderOutcome run_spending(Traffic& traffic, Decider& decider, const SpendRules& rules,
                           const SpendPlan& plan, const Interrupt& interrupt,
                           const OnDecision& on_decision, const OnProgress& on_progress,
                           std::optional<microseconds> zero) {
  return SpendingRun(traffic, decider, rules, plan, on_decision, zero).run(interrupt, on_progress);
}

}  // namespace rlctl::traffic
