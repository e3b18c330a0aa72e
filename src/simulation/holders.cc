#include "simulation/holders.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "traffic/pattern.h"

namespace rlctl::simulation {
namespace {

using limiter::Decision;

/// The keys that are drawn.
constexpr std::uint32_t kDrawnKeys = 1'000;
/// The keys that are probed at the end, and the most requests of the probe.
constexpr std::size_t kProbedKeys = 100;
constexpr std::int64_t kMostProbes = 100'000;
/// The most leases and reservations of a key that are probed.
constexpr std::int64_t kMostLeasesProbed = 10'000, kMostReservationsProbed = 400;
/// The most steps in one call of the decider.
constexpr std::size_t kMostInCall = 4096;

/// Ends a span, if one has begun.
void end_span(std::optional<microseconds>& since, microseconds now, microseconds& longest) {
  if (since) longest = std::max(longest, now - *since);
  since.reset();
}

/// At least 1 µs.
microseconds scaled(microseconds time, double factor) {
  const auto us = std::llround(static_cast<double>(time.count()) * factor);
  return microseconds{std::max<std::int64_t>(us, 1)};
}

}  // namespace

// ---- Measuring ----

/// Makes one step of every two: the higher one, so that none looks lower than it was.
void HeldSeries::merge() {
  for (std::size_t i = 0; i < steps_.size() / 2; ++i) {
    const auto& [one, other] = std::pair(steps_[2 * i], steps_[2 * i + 1]);
    steps_[i] = {one.at, std::max(one.held, other.held)};
  }
  steps_.resize(steps_.size() / 2);
}

/// The key as of `now`, when some holds and windows have ended.
HolderMeasurement::Key& HolderMeasurement::at(std::uint32_t number, microseconds now) {
  if (number >= keys_.size()) {
    keys_.resize(number + std::size_t{1}, Key{.holds = Holds(rules_)});
  }
  auto& key = keys_[number];
  if (has_traffic_) last_event_ = now;
  // The holder of a lease works on. Each end of a reservation or a window is a step in the picture.
  while (!rules_.has_leases && number < kDrawnKeys) {
    const auto next = key.holds.next_change();
    if (next >= now) break;
    key.holds.advance(next);
    draw(key, number, next);
  }
  key.holds.advance(now);
  return key;
}

void HolderMeasurement::add(const traffic::Arrival& event, bool allowed) {
  auto& key = at(event.key, event.at);
  const auto& words = vocabulary_of(event.event);
  if (event.event == words.take) {
    take(key, event, allowed);
  } else if (event.event == words.give_back) {
    give_back(key, event, allowed);
  } else {
    renew(key, event, allowed);
  }
  // A reservation or a window may also end now.
  const bool has_ended = is_of_reservation(event.event) || event.event == traffic::Event::kRelease;
  if (allowed || has_ended) draw(key, event.key, event.at);
}

void HolderMeasurement::take(Key& key, const traffic::Arrival& event, bool allowed) {
  if (has_traffic_) key.last_asked = event.at;
  if (!allowed) return deny(key, event);
  key.holds.add(event, true);
  const auto* hold = key.holds.find(event.holder);
  if (hold != nullptr) end_of_holds_ = std::max(end_of_holds_, hold->latest_end + rules_.late);
  note_used(key, event);
  if (!has_traffic_) return;
  end_span(key.starved_since, event.at, found_.longest_starved);
  if (key.holds.most_counted() < rules_.limit.limit) return;
  end_span(key.leaked_since, event.at, found_.longest_leaked);
}

void HolderMeasurement::renew(Key& key, const traffic::Arrival& event, bool allowed) {
  const auto* hold = key.holds.find(event.holder);
  if (hold == nullptr) return;
  if (!allowed) {
    found_.renewals_refused += key.holds.runs(*hold) ? 1 : 0;
    return;
  }
  ++found_.renewed;
  key.holds.add(event, true);
  note_used(key, event);
}

void HolderMeasurement::give_back(Key& key, const traffic::Arrival& event, bool allowed) {
  const auto* hold = key.holds.find(event.holder);
  // Nothing is spent of what was not reserved, or is settled already.
  if (hold == nullptr || hold->is_given_back) return;
  if (!allowed && key.holds.runs(*hold)) ++*found_.refused_while_held;
  if (!allowed && !rules_.has_leases) {
    ++*found_.refused;
    return;
  }
  ++found_.finished;
  if (!rules_.has_leases && event.at >= hold->end) ++found_.late;
  const auto before = key.holds.held();
  const bool is_certain = key.holds.is_certain(*hold);
  key.holds.add(event, allowed);
  if (is_certain && key.holds.held() + event.actual > before) note_overspent(key);
}

void HolderMeasurement::die(const traffic::Arrival& holder) {
  ++found_.died;
  auto& key = at(holder.key, holder.at);
  key.holds.die(holder.holder);
  draw(key, holder.key, holder.at);
}

void HolderMeasurement::deny(Key& key, const traffic::Arrival& event) {
  const auto free = rules_.limit.limit - key.holds.most_counted();
  if (free < event.cost) return;
  ++found_.starved;
  note_leak(free);
  if (!key.starved_since) key.starved_since = event.at;
  if (rules_.has_leases && !key.leaked_since) key.leaked_since = event.at;
}

/// Whether units are free after an allowed event, which they must be with some kind of windows.
void HolderMeasurement::note_used(const Key& key, const traffic::Arrival& event) {
  for (std::size_t kind = 0; kind < key.holds.window_kinds(); ++kind) {
    auto& usage = usage_[kind];
    const UnitsUsed used{.spent = key.holds.spent(static_cast<WindowKind>(kind)),
                         .held = key.holds.held(),
                         .key = event.key,
                         .at = event.at};
    auto& most = has_traffic_ ? usage.most : usage.most_at_end;
    if (used.both() > most.both()) most = used;
    if (has_traffic_ && used.both() > rules_.limit.limit) ++usage.exceeded;
  }
  const auto working = key.holds.held() + key.holds.lapsed();
  if (!has_traffic_ || working <= found_.most_ever.held) return;
  found_.most_ever = {
      .held = working, .lapsed = key.holds.lapsed(), .key = event.key, .at = event.at};
}

void HolderMeasurement::note_overspent(const Key& key) {
  for (std::size_t kind = 0; kind < key.holds.window_kinds(); ++kind) {
    const auto used = key.holds.spent(static_cast<WindowKind>(kind)) + key.holds.held();
    usage_[kind].overspent = std::max(usage_[kind].overspent, used - rules_.limit.limit);
  }
}

std::int64_t HolderMeasurement::free_units(std::uint32_t key, microseconds now) {
  return std::max<std::int64_t>(0, rules_.limit.limit - at(key, now).holds.most_counted());
}

void HolderMeasurement::draw(const Key& key, std::uint32_t number, microseconds now) {
  if (number >= kDrawnKeys || !has_traffic_) return;
  if (number >= series_.size()) series_.resize(number + std::size_t{1});
  series_[number].add(now, key.holds.in_use());
}

/// The end counts only if it shows more than the limit.
std::int64_t HolderMeasurement::most_in_use(const Usage& usage) const {
  const auto at_end = usage.most_at_end.both();
  return std::max(usage.most.both(), at_end > rules_.limit.limit ? at_end : 0);
}

HolderReport HolderMeasurement::finish(std::optional<EndProbe> end) {
  for (auto& key : keys_) {
    end_span(key.starved_since, key.last_asked, found_.longest_starved);
    end_span(key.leaked_since, last_event_, found_.longest_leaked);
  }
  const auto kinds = keys_.empty() ? std::size_t{1} : keys_.front().holds.window_kinds();
  const auto& usage =
      *std::ranges::min_element(std::span(usage_).first(kinds), {},
                                [this](const Usage& of_kind) { return most_in_use(of_kind); });
  found_.most = usage.most;
  found_.exceeded = usage.exceeded;
  found_.overspent = usage.overspent;
  const auto& at_end = usage.most_at_end;
  if (!rules_.has_leases) {
    found_.most_ever = found_.most;
    if (end) end->too_many = std::max<std::int64_t>(0, at_end.both() - rules_.limit.limit);
  } else if (at_end.held > std::max(rules_.limit.limit, found_.most.held)) {
    found_.most = at_end;
    if (at_end.held > found_.most_ever.held) found_.most_ever = at_end;
  }
  found_.end = end;
  const auto drawn = found_.most_ever.key;
  if (drawn < series_.size()) found_.steps = series_[drawn].take();
  return found_;
}

// ---- The events ----

namespace {

struct Holder {
  std::uint32_t key = 0;
  std::int64_t actual = 0;  ///< with which it settles
  /// When it gives back what it has, or dies; the maximum if it never does anything.
  microseconds until{0};
  bool dies = false;
};

/// Chooses how long each holder has what it gets, and who dies.
class HolderLifetimes {
 public:
  /// Takes another seed than the pattern, so that lives do not depend on the times of the requests.
  HolderLifetimes(const HolderPlan& plan, bool has_leases)
      : plan_(plan), has_leases_(has_leases), random_(plan.seed + 0x9E3779B97F4A7C15U) {}

  /// The holder that begins with this request. Draws as many numbers for one that dies.
  Holder next(const traffic::Arrival& request) {
    return has_leases_ ? next_of_lease(request) : next_of_reservation(request);
  }

 private:
  Holder next_of_lease(const traffic::Arrival& request) {
    auto hold = plan_.is_in_cost ? std::chrono::milliseconds{request.cost} : plan_.hold;
    if (plan_.is_exponential) hold = scaled(hold, random_.exponential());
    const bool dies = random_.uniform() < plan_.crash_share;
    const auto moment = random_.uniform();
    return {.key = request.key,
            .until = request.at + (dies ? scaled(hold, moment) : hold),
            .dies = dies};
  }
  Holder next_of_reservation(const traffic::Arrival& request) {
    const auto cost = random_.uniform(), time = random_.exponential();
    const bool dies = random_.uniform() < plan_.crash_share;
    const auto least = plan_.least_actual.value_or(plan_.units);
    const auto range = plan_.most_actual.value_or(least) - least + 1;
    const auto after = plan_.is_exponential ? scaled(plan_.settle_after, time) : plan_.settle_after;
    return {.key = request.key,
            .actual = least + static_cast<std::int64_t>(cost * static_cast<double>(range)),
            .until = dies ? microseconds::max() : request.at + after,
            .dies = dies};
  }

  const HolderPlan& plan_;
  bool has_leases_;
  traffic::Random random_;
};

/// What a holder does, or what happens to it. At equal times the first of these comes first.
enum class Act { kDie, kGiveBack, kRenew, kTake };

struct Step {
  microseconds at{0};
  Act act = Act::kTake;
  std::uint32_t holder = 0;

  bool operator>(const Step& other) const {
    return std::tie(at, act, holder) > std::tie(other.at, other.act, other.holder);
  }
};

/// Gives each request of a traffic to a decider as the first event of a new holder, and with them
/// the events that follow from the decisions, in the order of their times.
class HolderSimulation {
 public:
  /// The references must outlive this. `zero`: see Timeline.
  HolderSimulation(traffic::Traffic& traffic, Decider& decider, const HoldRules& rules,
                   const HolderPlan& plan, const OnDecision& on_decision,
                   std::optional<microseconds> zero)
      : traffic_(traffic),
        decider_(decider),
        rules_(rules),
        plan_(plan),
        vocabulary_(rules.has_leases ? kLeaseVocabulary : kReservationVocabulary),
        hold_(rules.has_leases ? microseconds{0} : plan.hold),
        third_(std::max(rules.limit.window / 3, microseconds{1})),
        on_decision_(on_decision),
        limits_{rules.limit},
        recorder_(limits_, no_callback_, false, zero),
        lifetimes_(plan, rules.has_leases),
        measurement_(rules) {}

  HolderOutcome run(const Interrupt& interrupt, const OnProgress& on_progress) {
    bool is_interrupted = !run_traffic(interrupt, on_progress);
    std::optional<EndProbe> end;
    if (!is_interrupted) end = probe(is_interrupted);
    HolderOutcome result{.outcome = recorder_.finish(), .report = measurement_.finish(end)};
    result.outcome.replies = decider_.replies();
    result.outcome.was_stalled = decider_.was_stalled();
    result.outcome.interrupted = is_interrupted;
    return result;
  }

 private:
  // ---- Sending ----

  /// Runs until no event is pending. Returns false if interrupted.
  bool run_traffic(const Interrupt& interrupt, const OnProgress& on_progress) {
    while (true) {
      if (interrupt.signal() != 0) return false;
      if (!plan_batch()) return true;
      if (!decide()) return false;
      if (on_progress) on_progress(begun_);
    }
  }

  /// Collects steps until one may depend on the answer to another; false at the end.
  bool plan_batch() {
    steps_.clear();
    arrivals_.clear();
    auto known_until = microseconds::max();
    while (arrivals_.size() < kMostInCall) {
      if (!has_next_ && !traffic_.next(next_)) next_.at = microseconds::max();
      has_next_ = true;
      const bool is_due = !due_.empty() && due_.top().at <= next_.at;
      const auto at = is_due ? due_.top().at : next_.at;
      if (at >= known_until || at == microseconds::max()) break;
      if (is_due) {
        steps_.push_back(due_.top());
        due_.pop();
      } else {
        holders_.emplace(++last_holder_, lifetimes_.next(next_));
        steps_.push_back({.at = next_.at, .act = Act::kTake, .holder = last_holder_});
        has_next_ = false;
      }
      known_until = std::min(known_until, next_after(steps_.back()));
      if (steps_.back().act != Act::kDie) arrivals_.push_back(event_of(steps_.back()));
    }
    return !steps_.empty();
  }

  /// False if it was interrupted.
  bool decide() {
    decisions_.resize(arrivals_.size());
    std::size_t answered = 0;
    try {
      answered = decider_.decide(arrivals_, decisions_);
    } catch (const Interrupted&) {
    }
    std::size_t next = 0;
    for (const auto& step : steps_) {
      const bool is_asked = step.act != Act::kDie;
      if (is_asked && next == answered) return false;
      now_ = step.at;
      if (!is_asked) {
        die(event_of(step));
        continue;
      }
      const auto& arrival = arrivals_[next];
      const auto& decision = decisions_[next++];
      if (on_decision_) on_decision_(arrival, decision);
      follow(step, arrival, decision.allowed);
      if (step.act != Act::kTake) continue;
      recorder_.add(arrival, decision);
      ++begun_;
    }
    return true;
  }

  // ---- Holders ----

  /// When the holder renews its lease after this step, if that is allowed; the maximum if never.
  microseconds renewal_after(const Step& step) const {
    const bool has_hold = step.act == Act::kTake || step.act == Act::kRenew;
    return plan_.renews && has_hold ? step.at + third_ : microseconds::max();
  }
  /// When, at the earliest, another step follows from the decision about this one; the maximum if
  /// none does.
  microseconds next_after(const Step& step) const {
    const auto renewal = renewal_after(step);
    return step.act == Act::kTake ? std::min(holders_.at(step.holder).until, renewal) : renewal;
  }
  traffic::Event event_of(Act act) const {
    if (act == Act::kTake) return vocabulary_.take;
    return act == Act::kRenew ? traffic::Event::kRenew : vocabulary_.give_back;
  }
  /// Also says who dies.
  traffic::Arrival event_of(const Step& step) const {
    const auto& holder = holders_.at(step.holder);
    return {.at = step.at,
            .key = holder.key,
            .event = event_of(step.act),
            .cost = plan_.units,
            .holder = step.holder,
            .actual = step.act == Act::kGiveBack ? holder.actual : 0,
            .hold = hold_};
  }
  void follow(const Step& step, const traffic::Arrival& event, bool allowed) {
    measurement_.add(event, allowed);
    const auto& holder = holders_.at(step.holder);
    if (step.act == Act::kTake && allowed) {
      if (holder.until == microseconds::max()) return die(event);
      due_.push({holder.until, holder.dies ? Act::kDie : Act::kGiveBack, step.holder});
    }
    if (step.act == Act::kGiveBack || (step.act == Act::kTake && !allowed)) return forget(event);
    const auto renewal = renewal_after(step);
    if (allowed && renewal < holder.until) due_.push({renewal, Act::kRenew, step.holder});
  }
  void die(const traffic::Arrival& holder) {
    measurement_.die(holder);
    forget(holder);
  }
  void forget(const traffic::Arrival& holder) {
    measurement_.forget(holder);
    holders_.erase(holder.holder);
  }

  // ---- The end ----

  /// Asks for all units that should be free when all holds have ended. Asks again for those of a
  /// budget when what was spent is forgotten, too.
  std::optional<EndProbe> probe(bool& is_interrupted) {
    const auto each = rules_.limit.limit / plan_.units;
    const auto most = rules_.has_leases ? kMostLeasesProbed : kMostReservationsProbed;
    if (measurement_.keys() == 0 || each > most) return std::nullopt;
    measurement_.end_traffic();
    const auto gap = 2 * std::max({rules_.limit.window, hold_, rules_.late});
    std::vector<microseconds> times{now_ + gap};
    if (!rules_.has_leases) {
      const auto first = std::max(measurement_.end_of_holds(), now_) + rules_.late;
      times = {first, first + gap};
    }
    const auto keys = static_cast<std::int64_t>(std::min(measurement_.keys(), kProbedKeys));
    EndProbe end{.after = times.back() - now_,
                 .keys = std::min(keys, kMostProbes / (each + probed_more()))};
    for (const auto at : times) {
      is_interrupted = !probe_at(at, end);
      if (is_interrupted) return std::nullopt;
    }
    return end;
  }
  /// How many single units the probe asks for that should not be free.
  std::int64_t probed_more() const {
    constexpr std::int64_t kMost = 100;
    return rules_.has_leases ? std::min(rules_.limit.limit, kMost) + 1 : 1;
  }
  /// False if it was interrupted.
  bool probe_at(microseconds at, EndProbe& end) {
    std::vector<traffic::Arrival> arrivals;
    std::vector<std::int64_t> free;  // by key
    const auto ask_for = [&](std::uint32_t key, std::int64_t units) {
      arrivals.push_back({.at = at,
                          .key = key,
                          .event = vocabulary_.take,
                          .cost = units,
                          .holder = ++last_holder_,
                          .hold = hold_});
    };
    for (std::uint32_t key = 0; key < static_cast<std::uint32_t>(end.keys); ++key) {
      free.push_back(measurement_.free_units(key, at));
      for (std::int64_t i = 0; i < free.back() / plan_.units; ++i) ask_for(key, plan_.units);
      // Halves find the exact remainder.
      for (auto units = plan_.units; units > 1;) ask_for(key, units -= units / 2);
      for (std::int64_t i = 0; i < probed_more(); ++i) ask_for(key, 1);
    }
    std::vector<Decision> decisions(arrivals.size());
    try {
      if (decider_.decide(arrivals, decisions) < arrivals.size()) return false;
    } catch (const Interrupted&) {
      return false;
    }
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
      end.too_many += std::max<std::int64_t>(0, got[key] - free[key]);
    }
    end.taken = std::max(end.taken, taken);
    return true;
  }

  traffic::Traffic& traffic_;
  Decider& decider_;
  const HoldRules& rules_;
  const HolderPlan& plan_;
  const HoldVocabulary& vocabulary_;
  microseconds hold_;   ///< of a reservation; 0 of a lease, whose time the limiter knows
  microseconds third_;  ///< of a lease
  const OnDecision& on_decision_;
  const OnDecision no_callback_;
  std::vector<limiter::Limit> limits_;
  OutcomeRecorder recorder_;
  HolderLifetimes lifetimes_;
  HolderMeasurement measurement_;
  std::unordered_map<std::uint32_t, Holder> holders_;
  std::priority_queue<Step, std::vector<Step>, std::greater<>> due_;
  microseconds now_{0};  ///< of the last step
  std::int64_t begun_ = 0;
  std::uint32_t last_holder_ = 0;
  traffic::Arrival next_;  ///< the next request
  bool has_next_ = false;
  std::vector<Step> steps_;                 ///< of the batch
  std::vector<traffic::Arrival> arrivals_;  ///< the steps about which the limiter is asked
  std::vector<Decision> decisions_;         ///< by arrival
};

}  // namespace

HolderOutcome run_holders(traffic::Traffic& traffic, Decider& decider, const HoldRules& rules,
                          const HolderPlan& plan, const Interrupt& interrupt,
                          const OnDecision& on_decision, const OnProgress& on_progress,
                          std::optional<microseconds> zero) {
  return HolderSimulation(traffic, decider, rules, plan, on_decision, zero)
      .run(interrupt, on_progress);
}

}  // namespace rlctl::simulation
