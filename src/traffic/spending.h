#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "traffic/holding.h"
#include "traffic/measurement.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

// Budgets as traffic: each request of a pattern or a log becomes a reservation by a new holder, who
// settles it with the actual cost, or dies. Measures whether what was spent and held ever exceeded
// the limit, and which units the limiter lost. cli/commands/burst runs it for every limiter;
// SpendMeasurement alone is for any other order of events.

namespace rlctl::traffic {

// ---- Measuring ----

/// How a limiter is judged.
struct SpendRules {
  limiter::Limit limit = {};
  /// It counts in windows of the clock, as `budget` does. Otherwise its windows may also begin with
  /// a key's first event, first settle or first units spent; what exceeds the limit must do so in
  /// all four kinds, and a denial is wrong only if there was room for all that was spent within a
  /// window's length.
  bool has_clock_windows = true;
  /// How coarse its clock is: a hold or a window may end this much earlier or later than it should,
  /// which is held against nobody.
  microseconds tick{0};
};

/// Follows what is spent and held, from reservations, settles and their decisions in order. A
/// holder reserves once.
class SpendMeasurement {
 public:
  explicit SpendMeasurement(const SpendRules& rules) : rules_(rules) {}

  void add(const Arrival& arrival, bool allowed);
  std::size_t keys() const { return keys_.size(); }
  /// The units of a key that nobody has, for certain. No event may come before this time any more.
  std::int64_t free_units(std::uint32_t key, microseconds now);
  /// When all holds have ended.
  microseconds end_of_holds() const { return end_of_holds_; }
  /// From now on nothing is drawn or counts as used; what exceeds the limit is told apart.
  void end_traffic() { has_traffic_ = false; }
  /// At the end, nobody had or got so many units of a key.
  void note_leak(std::int64_t units) { found_.leaked = std::max(found_.leaked, units); }
  /// `end` gets by how much it exceeded the limit.
  HolderReport finish(std::optional<EndProbe> end = {});

 private:
  struct Window {
    microseconds begin{0}, end{0};
    std::int64_t spent = 0;  ///< for certain
  };
  enum WindowKind : std::size_t { kOfClock, kFromFirst, kFromSettle, kFromSpent, kKinds };
  /// Of a kind of windows.
  struct Exceeded {
    UnitsUsed most = {};
    std::int64_t times = 0, overspent = 0;
    std::int64_t at_end = 0;  ///< the most units above the limit that were allowed after traffic
  };
  struct Key {
    std::array<Window, kKinds> windows = {};
    /// Units held for certain, and perhaps, by the ends of their holds.
    std::multimap<microseconds, std::int64_t> held = {}, perhaps_held = {};
    std::int64_t units_held = 0, units_perhaps_held = 0;
    /// What may count as spent; not with windows of the clock.
    std::deque<std::pair<microseconds, std::int64_t>> recent = {};
    std::int64_t units_recent = 0;
    std::optional<microseconds> starved_since = {};
    microseconds last_asked{0};
  };
  struct Reservation {
    std::int64_t units = 0;
    microseconds until{0}, perhaps_until{0}, forgotten_at{0};
    bool is_settled = false;
  };

  Key& at(std::uint32_t number, microseconds now);
  void roll(Window& window, WindowKind kind, microseconds now) const;
  void reserve(Key& key, const Arrival& arrival);
  void settle(Key& key, const Arrival& arrival, bool allowed);
  void spend(Key& key, std::int64_t units, microseconds now, bool is_certain);
  void note_allowed(Key& key, std::uint32_t number, microseconds now);
  void deny(Key& key, const Arrival& arrival);
  void end_starved(Key& key, microseconds now);
  std::int64_t spent_surely(const Key& key, WindowKind kind, microseconds now) const;
  std::int64_t used_perhaps(const Key& key) const;
  std::size_t kinds() const { return rules_.has_clock_windows ? std::size_t{1} : kKinds; }
  void draw(const Key& key, std::uint32_t number, microseconds now);

  SpendRules rules_;
  std::vector<Key> keys_;
  std::unordered_map<std::uint32_t, Reservation> reservations_;  ///< by holder
  std::array<Exceeded, kKinds> exceeded_ = {};
  std::vector<HeldSeries> series_;  ///< by key
  microseconds end_of_holds_{0};
  bool has_traffic_ = true;
  HolderReport found_;
};

// ---- Running ----

/// What the holders do.
struct SpendPlan {
  std::int64_t units = 1;                         ///< of each reservation
  std::optional<std::int64_t> least_actual = {};  ///< std::nullopt: the units
  std::optional<std::int64_t> most_actual = {};   ///< the actual cost is uniform between them
  microseconds hold{1};                           ///< of the reservations
  microseconds settle_after{1};                   ///< an allowed reservation
  bool is_exponential = false;                    ///< it is the mean of such a distribution
  double crash_share = 0;                         ///< of the holders: they never settle
  std::uint64_t seed = 1;  ///< for all of this, which is the same for every limiter
};

/// Gives the reservations of `traffic`, and the settles that follow from the decisions, to the
/// decider in the order of their times; at equal times settles come first. Like run_virtually(),
/// whose parameters these are; `on_decision` gets all events.
HolderOutcome run_spending(Traffic& traffic, Decider& decider, const SpendRules& rules,
                           const SpendPlan& plan, const Interrupt& interrupt,
                           const OnDecision& on_decision = {}, const OnProgress& on_progress = {},
                           std::optional<microseconds> zero = {});

}  // namespace rlctl::traffic
