#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"
#include "traffic/measurement.h"
#include "traffic/traffic.h"
#include "traffic/virtual_run.h"

// Leases as traffic: each request of a pattern or a log is an acquire by a new holder, who renews
// and releases the lease if it gets one, or dies. Measures how many held at once, and which slots
// the limiter lost. cli/commands/burst runs it for every limiter.

namespace rlctl::traffic {

/// What the holders do.
struct HoldPlan {
  microseconds hold{1};         ///< from an allowed acquire to the release
  bool is_exponential = false;  ///< `hold` is the mean of an exponential distribution
  bool is_in_cost = false;      ///< Arrival::cost is the time in ms instead
  double crash_share = 0;       ///< of the holders: they die at a random moment of their hold
  bool renews = false;          ///< each third of the lease
  std::uint64_t seed = 1;       ///< for times and deaths, which are the same for every limiter
  /// How coarse the limiter's clock is: a lease may end this much earlier or later than it should,
  /// which is held against nobody.
  microseconds tick{0};
};

/// How many hold, or how many units are used, from some time on.
struct HeldStep {
  microseconds at{0};
  std::int64_t held = 0;
};

/// How many hold over time, in bounded memory: neighbouring steps are merged if there are too many.
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
  /// How many reservations were allowed although more than the limit was used then.
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

struct HolderOutcome {
  Outcome outcome = {};  ///< of the acquires or reservations; its windows and reports mean nothing
  HolderReport report = {};
};

/// Gives the acquires of `traffic`, and the renewals and releases that follow from the decisions,
/// to the decider in the order of their times; at equal times releases come first, then renewals.
/// The limit is the number of leases, and its window their duration. Like run_virtually(), whose
/// parameters these are; `on_decision` gets all events.
HolderOutcome run_holding(Traffic& traffic, Decider& decider, const limiter::Limit& limit,
                          const HoldPlan& plan, const Interrupt& interrupt,
                          const OnDecision& on_decision = {}, const OnProgress& on_progress = {},
                          std::optional<microseconds> zero = {});

}  // namespace rlctl::traffic
