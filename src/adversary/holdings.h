#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/search.h"
#include "adversary/search_engine.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"
#include "simulation/holds.h"
#include "traffic/pattern.h"

// The search for the schedules of holders' events under which more leases are held than the limit
// allows, a reserve brings what is spent and held above the limit, or units leak. Holders come
// late, repeat themselves, give back what they do not have, or die; settles cost less or more than
// was reserved. The ledger (simulation/holds.h) judges each schedule; the rules (holding_rules.h)
// say which events there are, and when they may come.

namespace rlctl::adversary {

/// The worst moments of a schedule, according to the ledger (simulation/holds.h).
struct HoldingScore {
  /// The most leases held at once, or the most units spent in one window or held after an allowed
  /// reserve; with the kind of windows that suits the limiter best. More than the limit is a
  /// finding.
  std::int64_t held = 0;
  std::size_t held_at = 0;  ///< the index of the first event after which they were
  /// Largest number of free units at the moment of a denial that they should have prevented; of
  /// reservations the fewest that are missing. What ended less than `grace` ago is not free,
  /// unless the search is exact.
  std::int64_t leaked = 0;
  std::size_t leaked_at = 0;  ///< the index of the first such event
};

using HoldingFinding = Found<HoldingScore>;

/// An event of a schedule.
struct HoldingStep {
  std::int64_t held = 0;                   ///< how many leases, or units, are held after it
  std::optional<std::int64_t> spent = {};  ///< units of a budget that are spent in the window
  /// What is wrong about the event; empty if nothing is.
  std::string_view note = {};
};

struct HoldingSearchResult : SearchTotals {
  std::int64_t held = 0;    ///< the most that were held at once in any schedule
  std::int64_t leaked = 0;  ///< the most that were leaked in any schedule
  /// The shortest schedule that was found to hold more than the limit, or to leak something.
  /// Holders have the numbers from 1 in the order in which they come.
  std::optional<HoldingFinding> overfilled = {}, leak = {};
  bool leaks_for_ever = false;  ///< it is still taken a year later
  microseconds grace{0};        ///< see HoldingRules::grace()

  std::vector<const HoldingFinding*> findings() const;
};

/// What is searched, and how.
struct HoldingSearch {
  limiter::Limit limit = {};  ///< or, in a search of leases, their number and duration
  bool has_leases = false;    ///< otherwise reservations
  bool renews = true;         ///< whether the limiter is told when leases are renewed
  /// Of a budget: the units that reservations have, or the whole limit; and how long they are held.
  std::int64_t units = 1;
  microseconds hold{0};
  /// Of a budget: windows and holds end to the microsecond, as those of the script `budget` do.
  bool is_exact = false;
  /// How many events the search sends; shrinking sends at most as many again for each finding.
  std::int64_t tries = kDefaultTries;
  std::uint64_t seed = 1;
  microseconds base{0};  ///< no event is earlier
  microseconds tick{1};  ///< times are the base plus multiples of this
  /// Instead of a number of tries, try every schedule of up to this many events at critical times.
  std::optional<int> exhaustive = {};
};

/// `grace`: see HoldingRules::grace().
HoldingScore holding_score_of(const Schedule& schedule, const Answers& answers,
                              const HoldingSearch& search, microseconds grace);
/// Each event with what is held after it, and a note of Holds::note_on().
std::vector<HoldingStep> holding_steps_of(const Schedule& schedule, const Answers& answers,
                                          const HoldingSearch& search);

/// No event of a search is later than this after the base, if what holders have ends within `ends`;
/// `events`: those of an exhaustive search.
microseconds latest_time(microseconds ends, std::optional<int> events);

/// Tries schedules under which limiters are known to fail, then random ones until the tries are
/// used up; or every schedule of a few events, of which those that leave equal contents, and equal
/// holders, are extended only once, but all count. Each is followed by a probe: new holders who ask
/// for everything. Then shrinks what was found. The same search gives the same result. Throws what
/// the trial throws, and UsageError if the tries are too few for the leases. `worst` of the
/// progress is the most that was held.
HoldingSearchResult search_holdings(Trial& trial, const HoldingSearch& search,
                                    const Interrupt& interrupt, const OnProgress& on_progress = {});

}  // namespace rlctl::adversary
