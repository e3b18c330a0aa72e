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

/// The most holders of one key at once. A holder holds from its allowed acquire until it releases
/// its lease or dies.
struct MostHeld {
  std::int64_t held = 0;
  std::int64_t lapsed = 0;  ///< how many of them held on although their lease had ended
  std::uint32_t key = 0;
  microseconds at{0};  ///< since 1970, when it was reached first
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

/// How a limiter gave leases.
struct Held {
  std::int64_t released = 0, crashed = 0, renewed = 0;  ///< holders; holders; renewals
  /// Those whose leases had not ended: `lapsed` is 0. More than the limit also if the end shows it.
  MostHeld most = {};
  MostHeld most_ever = {};  ///< with those whose leases had ended
  /// Acquires that were denied although fewer than the limit held, or had died within their lease,
  /// and the longest time from such a denial until the next allowed acquire of the key, or its last
  /// acquire.
  std::int64_t starved = 0;
  microseconds longest_starved{0};
  /// The most slots that nobody had at such a denial, or at the end, and the longest time from one
  /// until as many held as the limit allows, or until the end.
  std::int64_t leaked = 0;
  microseconds longest_leaked{0};
  /// While the lease had not ended.
  std::optional<std::int64_t> releases_refused = 0;  ///< std::nullopt: not known
  std::int64_t renewals_refused = 0;
  /// std::nullopt if it was interrupted, or if the limit is above 10,000.
  std::optional<EndProbe> end = {};
  /// How many held the key of `most_ever` over time; empty if it is not among the first thousand.
  std::vector<HeldStep> steps = {};
};

struct HoldingOutcome {
  Outcome outcome = {};  ///< of the acquires; its windows and reports mean nothing
  Held held = {};
};

/// Gives the acquires of `traffic`, and the renewals and releases that follow from the decisions,
/// to the decider in the order of their times; at equal times releases come first, then renewals.
/// The limit is the number of leases, and its window their duration. Like run_virtually(), whose
/// parameters these are; `on_decision` gets all events.
HoldingOutcome run_holding(Traffic& traffic, Decider& decider, const limiter::Limit& limit,
                           const HoldPlan& plan, const Interrupt& interrupt,
                           const OnDecision& on_decision = {}, const OnProgress& on_progress = {},
                           std::optional<microseconds> zero = {});

}  // namespace rlctl::traffic
