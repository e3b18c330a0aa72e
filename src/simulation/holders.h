#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "simulation/holds.h"
#include "simulation/measurement.h"
#include "simulation/virtual_run.h"
#include "traffic/traffic.h"

// Traffic of leases and reservations. Each request of a pattern or a log is the acquire or the
// reserve of a new holder, who later renews and releases its lease, settles its reservation, or
// dies. HolderMeasurement finds by a ledger (holds.h) whether more was in use than the limit, and
// which units the limiter lost; run_holders() simulates the holders.

namespace rlctl::simulation {

// ---- Measuring ----

/// How much is in use from some time on.
struct HeldStep {
  microseconds at{0};
  std::int64_t held = 0;
};

/// How much is in use over time, in bounded memory: neighbouring steps are merged if there are too
/// many.
class HeldSeries {
 public:
  void add(microseconds at, std::int64_t held) {
    if (!steps_.empty() && steps_.back().at == at) {
      steps_.back().held = held;
    } else {
      steps_.push_back({at, held});
    }
    if (steps_.size() == kMost) merge();
  }
  std::vector<HeldStep> take() { return std::move(steps_); }

 private:
  static constexpr std::size_t kMost = 32'768;
  void merge();

  std::vector<HeldStep> steps_;
};

/// The most units of one key in use at once. Each holder of a lease has one unit, from its allowed
/// acquire until it releases the lease or dies; a reservation has its units until it is settled.
struct UnitsUsed {
  std::int64_t spent = 0, held = 0;
  std::int64_t lapsed = 0;  ///< how many of the held ones have a lease that had ended
  std::uint32_t key = 0;
  microseconds at{0};  ///< since 1970, when it was reached first

  std::int64_t both() const { return spent + held; }
};

/// What acquires or reservations show long after everybody has gone: new holders ask at one
/// instant.
struct EndProbe {
  microseconds after{0};   ///< the last holder had gone
  std::int64_t keys = 0;   ///< that were asked for
  std::int64_t taken = 0;  ///< slots, or units, of these keys that nobody had and nobody got
  /// Acquires that were allowed beyond the limit, or the most units of a key above it.
  std::int64_t too_many = 0;
};

/// How a limiter handled leases or reservations.
struct HolderReport {
  std::int64_t finished = 0;  ///< holders who released or settled
  std::int64_t late = 0;      ///< of them, those who settled after the hold had ended
  std::int64_t died = 0;      ///< holders
  std::int64_t renewed = 0;   ///< renewals
  /// Of leases, those that had not ended: `lapsed` is 0; more than the limit also if the end shows
  /// it. Of reservations, what was spent in a window or held when one was allowed.
  UnitsUsed most = {};
  UnitsUsed most_ever = {};  ///< with the leases that had ended; of reservations the same
  /// How many events were allowed although more than the limit was used then.
  std::int64_t exceeded = 0;
  /// By how much settles that cost more than they freed brought a key above the limit, at most:
  /// they state what happened, which is nobody's fault unless `exceeded`.
  std::int64_t overspent = 0;
  /// How many were denied although there was room, for which a holder that died counts until the
  /// end of its lease or hold; and the longest time from such a denial until the next allowed
  /// request of the key, or its last request.
  std::int64_t starved = 0;
  microseconds longest_starved{0};
  /// The most units that nobody had at such a denial, or at the end; of leases, the longest time
  /// from one until as many held as the limit allows, or until the end.
  std::int64_t leaked = 0;
  microseconds longest_leaked{0};
  /// Releases and settles that the limiter refused before the lease or the hold had ended; and all
  /// settles that it refused, of which nothing is spent. std::nullopt: not known.
  std::optional<std::int64_t> refused_while_held = 0, refused = 0;
  std::int64_t renewals_refused = 0;  ///< of leases that had not ended
  /// std::nullopt if it was interrupted, or if a key has room for too many holders.
  std::optional<EndProbe> end = {};
  /// The units used of the key of `most_ever` over time; empty if it is not among the first
  /// thousand.
  std::vector<HeldStep> steps = {};
};

/// Measures how a limiter handles holders, from their events and the decisions in order.
class HolderMeasurement {
 public:
  explicit HolderMeasurement(const HoldRules& rules) : rules_(rules) {}

  void add(const traffic::Arrival& event, bool allowed);
  /// The holder of a lease or a reservation is dead: it releases or settles nothing.
  void die(const traffic::Arrival& holder);
  /// No event of this holder will come.
  void forget(const traffic::Arrival& holder) { keys_[holder.key].holds.forget(holder.holder); }

  std::size_t keys() const { return keys_.size(); }
  /// The units of a key that nobody has, for certain. No event may come before this time any more.
  std::int64_t free_units(std::uint32_t key, microseconds now);
  /// When all holds have ended.
  microseconds end_of_holds() const { return end_of_holds_; }
  /// From now on nothing is drawn or counts as used; what exceeds the limit is told apart.
  void end_traffic() { has_traffic_ = false; }
  /// At the end, nobody had or got so many units of a key.
  void note_leak(std::int64_t units) { found_.leaked = std::max(found_.leaked, units); }
  /// The probe of a budget gets by how much units exceeded the limit.
  HolderReport finish(std::optional<EndProbe> end = {});

 private:
  struct Key {
    Holds holds;
    std::optional<microseconds> starved_since = {}, leaked_since = {};
    microseconds last_asked{0};
  };
  /// What was in use, if windows are of one kind.
  struct Usage {
    UnitsUsed most = {}, most_at_end = {};
    std::int64_t exceeded = 0, overspent = 0;
  };

  Key& at(std::uint32_t number, microseconds now);
  void take(Key& key, const traffic::Arrival& event, bool allowed);
  void renew(Key& key, const traffic::Arrival& event, bool allowed);
  void give_back(Key& key, const traffic::Arrival& event, bool allowed);
  void deny(Key& key, const traffic::Arrival& event);
  void note_used(const Key& key, const traffic::Arrival& event);
  void note_overspent(const Key& key);
  void draw(const Key& key, std::uint32_t number, microseconds now);
  std::int64_t most_in_use(const Usage& usage) const;

  HoldRules rules_;
  std::vector<Key> keys_;
  std::array<Usage, kWindowKinds> usage_ = {};
  std::vector<HeldSeries> series_;  ///< by key
  microseconds last_event_{0}, end_of_holds_{0};
  bool has_traffic_ = true;
  HolderReport found_;
};

// ---- Running ----

/// What the holders do. The same times, deaths and costs are chosen for every limiter.
struct HolderPlan {
  std::int64_t units = 1;                         ///< of each reservation
  std::optional<std::int64_t> least_actual = {};  ///< std::nullopt: the units
  std::optional<std::int64_t> most_actual = {};   ///< the actual cost is uniform between them
  /// Of a lease, from an allowed acquire to the release. Of a reservation, until its units lapse.
  microseconds hold{1};
  microseconds settle_after{1};  ///< from an allowed reserve to the settle
  /// The time to the release or the settle is the mean of an exponential distribution.
  bool is_exponential = false;
  bool is_in_cost = false;  ///< Arrival::cost is the hold of a lease in ms
  /// The share of the holders that die: of leases at a random moment of the hold. Reservations of
  /// dead holders are not settled.
  double crash_share = 0;
  bool renews = false;  ///< each third of the lease
  std::uint64_t seed = 1;
};

struct HolderOutcome {
  Outcome outcome = {};  ///< of the acquires or reservations; its windows and reports mean nothing
  HolderReport report = {};
};

/// Gives the acquires or reserves of `traffic`, and the events that follow from the decisions, to
/// the decider in the order of their times. At equal times releases and settles come first, then
/// renewals. The rules say what is held, and how the limiter is judged. Like run_virtually(), whose
/// parameters these are; `on_decision` gets all events.
HolderOutcome run_holders(traffic::Traffic& traffic, Decider& decider, const HoldRules& rules,
                          const HolderPlan& plan, const Interrupt& interrupt,
                          const OnDecision& on_decision = {}, const OnProgress& on_progress = {},
                          std::optional<microseconds> zero = {});

}  // namespace rlctl::simulation
