#include "traffic/holding.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traffic/follow_ups.h"
#include "traffic/pattern.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;

/// The keys that are drawn.
constexpr std::uint32_t kDrawnKeys = 1'000;
/// The keys that are asked for at the end, the highest limit of one, and the most acquires of all.
constexpr std::size_t kProbedKeys = 100;
constexpr std::int64_t kHighestProbed = 10'000, kMostProbes = 100'000;

/// Somebody who has a lease, or asks for one.
struct Holder {
  std::uint32_t key = 0;
  microseconds until{0};  ///< when the holder releases the lease, or dies
  bool dies = false;
  microseconds lease_end{0};
};

// ---- Measuring ----

/// Follows who holds, from the events and their decisions in order.
class HoldMeasurement {
 public:
  HoldMeasurement(const limiter::Limit& limit, microseconds tick) : limit_(limit), tick_(tick) {}

  /// Also extends the lease of a holder that has one.
  void acquire(Holder& holder, microseconds now, bool allowed) {
    auto& key = at(holder.key, now);
    key.last_acquire = now;
    if (!allowed) return deny(key, now);
    holder.lease_end = now + limit_.window;
    key.live.insert(earliest_end(holder));
    note_held(key, holder.key, now);
    if (key.starved_since) end_starved(key, now);
    if (key.leaked_since && occupied(key) >= limit_.limit) end_leaked(key, now);
  }
  void renew(Holder& holder, microseconds now, bool allowed) {
    auto& key = at(holder.key, now);
    const bool is_live = earliest_end(holder) > now;
    if (!allowed) {
      found_.renewals_refused += is_live ? 1 : 0;
      return;
    }
    ++found_.renewed;
    remove(key, holder, now);
    holder.lease_end = std::max(holder.lease_end, now + limit_.window);
    key.live.insert(earliest_end(holder));
    note_held(key, holder.key, now);
  }
  void release(const Holder& holder, microseconds now, bool allowed) {
    auto& key = at(holder.key, now);
    if (!allowed && earliest_end(holder) > now) ++*found_.refused_while_held;
    ++found_.finished;
    remove(key, holder, now);
    note_held(key, holder.key, now);
  }
  void die(const Holder& holder, microseconds now) {
    auto& key = at(holder.key, now);
    ++found_.died;
    remove(key, holder, now);
    if (latest_end(holder) > now) key.dead.insert(latest_end(holder));
    note_held(key, holder.key, now);
  }

  std::size_t keys() const { return keys_.size(); }
  /// At the end, new holders acquired `allowed` leases of this key at once.
  void probe(std::uint32_t key, std::int64_t allowed, microseconds now) {
    found_.leaked = std::max(found_.leaked, limit_.limit - allowed);
    if (allowed <= std::max(limit_.limit, found_.most.held)) return;
    found_.most = {.held = allowed, .key = key, .at = now};
    if (allowed > found_.most_ever.held) found_.most_ever = found_.most;
  }
  HolderReport finish(microseconds end) {
    for (auto& key : keys_) {
      if (key.starved_since) end_starved(key, key.last_acquire);
      if (key.leaked_since) end_leaked(key, end);
    }
    const auto drawn = found_.most_ever.key;
    if (drawn < series_.size()) found_.steps = series_[drawn].take();
    return found_;
  }

 private:
  struct Key {
    std::multiset<microseconds> live;  ///< earliest ends of the leases of those who hold
    std::int64_t lapsed = 0;           ///< who hold although their lease may have ended
    std::multiset<microseconds> dead;  ///< latest ends of the leases of those who died
    std::optional<microseconds> starved_since, leaked_since;
    microseconds last_acquire{0};
  };

  microseconds earliest_end(const Holder& holder) const { return holder.lease_end - tick_; }
  microseconds latest_end(const Holder& holder) const { return holder.lease_end + tick_; }

  /// The key as of `now`, when some leases have ended.
  Key& at(std::uint32_t number, microseconds now) {
    if (number >= keys_.size()) keys_.resize(number + std::size_t{1});
    auto& key = keys_[number];
    const auto ended = key.live.upper_bound(now);
    key.lapsed += std::distance(key.live.begin(), ended);
    key.live.erase(key.live.begin(), ended);
    key.dead.erase(key.dead.begin(), key.dead.upper_bound(now));
    return key;
  }
  /// Not while it is among `dead`.
  void remove(Key& key, const Holder& holder, microseconds now) const {
    if (earliest_end(holder) > now) {
      key.live.erase(key.live.find(earliest_end(holder)));
    } else {
      --key.lapsed;
    }
  }

  static std::int64_t holding(const Key& key) { return std::ssize(key.live) + key.lapsed; }
  /// The slots that the limiter may rightly count.
  static std::int64_t occupied(const Key& key) { return holding(key) + std::ssize(key.dead); }

  void note_held(const Key& key, std::uint32_t number, microseconds now) {
    if (std::ssize(key.live) > found_.most.held) {
      found_.most = {.held = std::ssize(key.live), .key = number, .at = now};
    }
    if (holding(key) > found_.most_ever.held) {
      found_.most_ever = {.held = holding(key), .lapsed = key.lapsed, .key = number, .at = now};
    }
    if (number >= kDrawnKeys) return;
    if (number >= series_.size()) series_.resize(number + std::size_t{1});
    series_[number].add(now, holding(key));
  }
  void deny(Key& key, microseconds now) {
    const auto free = limit_.limit - occupied(key);
    if (free <= 0) return;
    ++found_.starved;
    found_.leaked = std::max(found_.leaked, free);
    if (!key.starved_since) key.starved_since = now;
    if (!key.leaked_since) key.leaked_since = now;
  }
  void end_starved(Key& key, microseconds now) {
    found_.longest_starved = std::max(found_.longest_starved, now - *key.starved_since);
    key.starved_since.reset();
  }
  void end_leaked(Key& key, microseconds now) {
    found_.longest_leaked = std::max(found_.longest_leaked, now - *key.leaked_since);
    key.leaked_since.reset();
  }

  limiter::Limit limit_;
  microseconds tick_;
  std::vector<Key> keys_;
  std::vector<HeldSeries> series_;  ///< by key
  HolderReport found_;
};

// ---- The events ----

/// What a holder does next. The order of the rows is that at equal times.
enum Act { kDie, kRelease, kRenew, kAcquire };

/// Chooses how long each holder holds, and who dies.
class Fates {
 public:
  explicit Fates(const HoldPlan& plan)
      // Not the numbers of the pattern.
      : plan_(plan), random_(plan.seed + 0x9E3779B97F4A7C15U) {}

  /// The holder that acquires with this request.
  Holder next(const Arrival& arrival) {
    auto hold = plan_.is_in_cost ? std::chrono::milliseconds{arrival.cost} : plan_.hold;
    if (plan_.is_exponential) hold = scaled(hold, random_.exponential());
    // The same numbers are drawn whatever they decide.
    const bool dies = random_.uniform() < plan_.crash_share;
    const auto moment = random_.uniform();
    return {.key = arrival.key,
            .until = arrival.at + (dies ? scaled(hold, moment) : hold),
            .dies = dies};
  }

 private:
  const HoldPlan& plan_;
  Random random_;
};

class HoldingRun final : public FollowUps {
 public:
  HoldingRun(Traffic& traffic, Decider& decider, const limiter::Limit& limit, const HoldPlan& plan,
             const OnDecision& on_decision, std::optional<microseconds> zero)
      : FollowUps(traffic, decider, limit, on_decision, zero),
        limit_(limit),
        plan_(plan),
        third_(std::max(limit.window / 3, microseconds{1})),
        fates_(plan),
        measurement_(limit, plan.tick) {}

  HolderOutcome run(const Interrupt& interrupt, const OnProgress& on_progress) {
    bool is_interrupted = !FollowUps::run(interrupt, on_progress);
    HolderOutcome result;
    std::optional<EndProbe> end;
    if (!is_interrupted) end = probe(is_interrupted);
    result.report = measurement_.finish(now());
    if (!is_interrupted) result.report.end = end;
    result.outcome = finish(is_interrupted);
    return result;
  }

 private:
  Step begin(std::uint32_t holder, const Arrival& request) override {
    holders_.emplace(holder, fates_.next(request));
    return {.at = request.at, .act = kAcquire, .holder = holder};
  }
  microseconds next_after(const Step& step) const override {
    const bool may_renew = plan_.renews && (step.act == kAcquire || step.act == kRenew);
    const auto renewal = may_renew ? step.at + third_ : microseconds::max();
    return step.act == kAcquire ? std::min(holders_.at(step.holder).until, renewal) : renewal;
  }
  std::optional<Arrival> event_of(const Step& step) const override {
    if (step.act == kDie) return std::nullopt;
    const auto event = step.act == kRelease ? Event::kRelease
                       : step.act == kRenew ? Event::kRenew
                                            : Event::kRequest;
    return Arrival{
        .at = step.at, .key = holders_.at(step.holder).key, .event = event, .holder = step.holder};
  }
  void take(const Step& step, const Decision& decision) override {
    const auto found = holders_.find(step.holder);
    auto& holder = found->second;
    switch (step.act) {
      case kAcquire:
        measurement_.acquire(holder, step.at, decision.allowed);
        if (!decision.allowed) break;
        follow_with({holder.until, holder.dies ? kDie : kRelease, step.holder});
        renew_later(step, holder);
        return;
      case kRenew:
        measurement_.renew(holder, step.at, decision.allowed);
        if (decision.allowed) renew_later(step, holder);
        return;
      case kRelease:
        measurement_.release(holder, step.at, decision.allowed);
        break;
      default:
        measurement_.die(holder, step.at);
    }
    holders_.erase(found);
  }
  void renew_later(const Step& step, const Holder& holder) {
    const auto at = step.at + third_;
    if (plan_.renews && at < holder.until) follow_with({at, kRenew, step.holder});
  }

  /// Asks for more leases than there are, when all have ended.
  std::optional<EndProbe> probe(bool& is_interrupted) {
    const auto each = limit_.limit + std::min<std::int64_t>(limit_.limit, kProbedKeys) + 1;
    if (measurement_.keys() == 0 || limit_.limit > kHighestProbed) return std::nullopt;
    EndProbe end{.after = 2 * std::max(limit_.window, plan_.tick)};
    std::vector<Arrival> arrivals;
    const auto keys = std::min(measurement_.keys(), kProbedKeys);
    for (std::uint32_t key = 0; key < keys && std::ssize(arrivals) + each <= kMostProbes; ++key) {
      ++end.keys;
      for (std::int64_t i = 0; i < each; ++i) {
        arrivals.push_back({.at = now() + end.after, .key = key, .holder = new_holder()});
      }
    }
    const auto decisions = ask(arrivals);
    is_interrupted = decisions.empty();
    if (is_interrupted) return std::nullopt;
    for (std::size_t i = 0; i < decisions.size(); i += static_cast<std::size_t>(each)) {
      const auto of_key = std::span(decisions).subspan(i, static_cast<std::size_t>(each));
      const auto& first = arrivals[i];
      const auto allowed =
          std::ranges::count_if(of_key, [](const Decision& decision) { return decision.allowed; });
      measurement_.probe(first.key, allowed, first.at);
      end.taken += std::max<std::int64_t>(limit_.limit - allowed, 0);
      end.too_many += std::max<std::int64_t>(allowed - limit_.limit, 0);
    }
    return end;
  }

  limiter::Limit limit_;
  const HoldPlan& plan_;
  microseconds third_;  ///< of a lease
  Fates fates_;
  HoldMeasurement measurement_;
  std::unordered_map<std::uint32_t, Holder> holders_;
};

}  // namespace

/// Makes one step of every two: the higher one, so that none looks lower than it was.
void HeldSeries::merge() {
  for (std::size_t i = 0; i < steps_.size() / 2; ++i) {
    const auto& [one, other] = std::pair(steps_[2 * i], steps_[2 * i + 1]);
    steps_[i] = {one.at, std::max(one.held, other.held)};
  }
  steps_.resize(steps_.size() / 2);
}

HolderOutcome run_holding(Traffic& traffic, Decider& decider, const limiter::Limit& limit,
                          const HoldPlan& plan, const Interrupt& interrupt,
                          const OnDecision& on_decision, const OnProgress& on_progress,
                          std::optional<microseconds> zero) {
  return HoldingRun(traffic, decider, limit, plan, on_decision, zero).run(interrupt, on_progress);
}

}  // namespace rlctl::traffic
