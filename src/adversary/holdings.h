#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adversary/exhaustive.h"
#include "adversary/schedule.h"
#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "limiter/limit.h"
#include "traffic/holds.h"
#include "traffic/pattern.h"

// The search for schedules of events of holders, of which one takes what another gives back: leases
// (leases.h) and reservations of a budget (budgets.h). These say which events there are, when they
// may come, and what a schedule shows; here is what both searches have in common.

namespace rlctl::adversary {

/// The worst moments of a schedule, according to the ledger (traffic/holds.h).
struct HoldingScore {
  /// The most leases held at once, or the most units spent in one window or held after an allowed
  /// reserve; with the kind of windows that suits the limiter best. More than the limit is a
  /// finding.
  std::int64_t held = 0;
  std::size_t held_at = 0;  ///< the index of the first event after which they were
  /// Largest number of free units at the moment of a denial that they should have prevented; of
  /// reservations the fewest that are missing. What ended less than `settles` ago is not free,
  /// unless the search is exact.
  std::int64_t leaked = 0;
  std::size_t leaked_at = 0;  ///< the index of the first such event
};

/// A schedule, the answers to it, and what they show.
struct HoldingFinding {
  Schedule schedule = {};
  Answers answers = {};
  HoldingScore score = {};
};

/// An event of a schedule.
struct HoldingStep {
  std::int64_t held = 0;                   ///< how many leases, or units, are held after it
  std::optional<std::int64_t> spent = {};  ///< units of a budget that are spent in the window
  /// What is wrong about the event; empty if nothing is.
  std::string_view note = {};
};

struct HoldingSearchResult {
  std::int64_t held = 0;    ///< the most that were held at once in any schedule
  std::int64_t leaked = 0;  ///< the most that were lost in any schedule
  /// The shortest schedule that was found to hold more than the limit, or to lose something.
  /// Holders have the numbers from 1 in the order in which they come.
  std::optional<HoldingFinding> overfilled = {}, leak = {};
  bool leaks_for_ever = false;  ///< it is still taken a year later
  /// How many schedules an exhaustive search tried: all within bounds, unless `interrupted`.
  std::optional<std::int64_t> tried = {};
  std::int64_t undecided = 0;  ///< as in SearchResult
  microseconds settles{0};     ///< see HoldingRules::settles()
  std::int64_t requests_sent = 0;
  bool interrupted = false;
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
};

/// `settles`: see HoldingRules::settles().
HoldingScore holding_score_of(const Schedule& schedule, const Answers& answers,
                              const HoldingSearch& search, microseconds settles);
/// Each event with what is held after it, and a note of Holds::note_on().
std::vector<HoldingStep> holding_steps_of(const Schedule& schedule, const Answers& answers,
                                          const HoldingSearch& search);

/// Longer than whatever ends at all.
inline constexpr microseconds kYear = std::chrono::hours{8760};

/// The events of a kind of holders.
class HoldingRules {
 public:
  /// `durations`: after which something of a holder ends, the shortest first.
  HoldingRules(const HoldingSearch& search, std::vector<microseconds> durations);
  virtual ~HoldingRules() = default;

  /// Sets what follows from how long keys live: the critical times, and how long something may stay
  /// taken.
  void set_ttls(std::vector<microseconds> ttls);
  /// Schedules that leave what a limiter stores.
  virtual std::vector<Schedule> typical_schedules() const = 0;

  HoldingScore score_of(const Schedule& schedule, const Answers& answers) const {
    return holding_score_of(schedule, answers, search_, settles_);
  }
  /// A schedule with new holders at its end, who ask for everything at one instant, long after
  /// everybody else is gone.
  virtual Schedule with_probe(Schedule schedule) const = 0;
  /// Schedules under which limiters are known to fail.
  virtual std::vector<Schedule> known_schedules() const = 0;
  virtual Schedule random_schedule(traffic::Random& random) const = 0;

  /// Schedules of as many events with simpler numbers, none of which leads back to the schedule.
  virtual std::vector<Schedule> simpler(const Schedule& /*schedule*/) const { return {}; }

  /// Of an exhaustive search: when the next event may come, unsorted; the events, whose times are
  /// not set.
  virtual std::vector<microseconds> times_after(const Schedule& schedule,
                                                const Answers& answers) const = 0;
  virtual std::vector<Request> events_after(const Schedule& schedule) const = 0;
  /// State key: schedules with equal keys have equal futures.
  virtual std::string state_of(const Schedule& schedule, const Answers& answers) const {
    return ledger_after(schedule, answers).state_key();
  }

  /// How long after its end something may still be taken.
  microseconds settles() const { return settles_; }
  std::span<const microseconds> gaps() const { return gaps_; }
  std::span<const microseconds> durations() const { return durations_; }
  microseconds whole(microseconds time) const { return time - time % search_.tick; }

 protected:
  const HoldingSearch& search() const { return search_; }
  std::span<const microseconds> edges() const { return edges_; }
  traffic::Holds ledger_after(const Schedule& schedule, const Answers& answers) const;
  /// One of the gaps, by chance.
  microseconds gap_of(traffic::Random& random) const;

 private:
  HoldingSearch search_;
  std::vector<microseconds> durations_;
  std::vector<microseconds> gaps_, edges_;  ///< critical gaps; moments around the end of something
  microseconds settles_{0};
};

std::uint32_t last_holder(const Schedule& schedule);

/// A number from 0 to count - 1.
std::int64_t below(traffic::Random& random, std::int64_t count);

/// No event of a search is later than this after the base, if what holders have ends within `ends`;
/// `events`: those of an exhaustive search.
microseconds latest_time(microseconds ends, std::optional<int> events);

/// Tries schedules under which limiters are known to fail, then random ones until the tries are
/// used up, each with its probe. Then shrinks what was found. The same search gives the same
/// result. Throws what the trial throws. `worst` of the progress is the most that was held.
HoldingSearchResult search_holdings(Trial& trial, HoldingRules& rules, const HoldingSearch& search,
                                    const Interrupt& interrupt,
                                    const OnSearchProgress& on_progress = {});
/// Tries every schedule of at most `events` events at critical times, each with its probe, and
/// shrinks what was found. Schedules that leave equal contents, and equal holders, are extended
/// only once; they all count.
HoldingSearchResult search_all_holdings(Trial& trial, HoldingRules& rules,
                                        const HoldingSearch& search, int events,
                                        const Interrupt& interrupt,
                                        const OnExhaustiveProgress& on_progress = {});

}  // namespace rlctl::adversary
