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

// The search for the schedules of acquires, renewals and releases under which more leases are held
// than the limit allows, or a slot is lost. Holders come late, repeat themselves, release what they
// do not hold, or die. `burst adversary --concurrency` is this search, with a random part or with
// --exhaustive; lint calls it too. Schedules, answers and trials are those of the search for
// requests.

namespace rlctl::adversary {

// ---- What a schedule shows ----

/// The worst moments of a schedule. A holder holds from an allowed acquire until it releases the
/// lease, however that is answered, or the lease lapses. An allowed renewal makes a lease that had
/// lapsed run again.
struct LeaseScore {
  std::int64_t held = 0;    ///< the most that held at once
  std::size_t held_at = 0;  ///< the index of the first event after which they did
  /// The most slots that nobody had at a denied acquire: those of leases that were released, or
  /// that had lapsed long ago.
  std::int64_t leaked = 0;
  std::size_t leaked_at = 0;  ///< the index of the first such acquire
};
/// The limit is the number of leases, and its window their duration. `settles`: how long after a
/// lapse the slot may still be taken.
LeaseScore lease_score_of(const Schedule& schedule, const Answers& answers,
                          const limiter::Limit& limit, microseconds settles);

/// An event of a schedule.
struct LeaseStep {
  std::int64_t held = 0;  ///< how many hold after it
  /// Whose lease a renewal or a release is about: "never held", "released before" or "lease had
  /// ended"; empty if the lease runs, and for an acquire.
  std::string_view note = {};
};
std::vector<LeaseStep> lease_steps_of(const Schedule& schedule, const Answers& answers,
                                      const limiter::Limit& limit);

/// A schedule with new holders at its end, who ask for all leases at one instant, long after
/// everybody else is gone: `settles` after the last lease that its last event may have given.
Schedule with_probe(Schedule schedule, const limiter::Limit& limit, microseconds settles);

// ---- The search ----

struct LeaseSearchRequest {
  limiter::Limit limit = {};  ///< the number of leases, and their duration
  bool renews = true;         ///< the limiter is told of renewals
  /// How many events the search sends; shrinking sends at most as many again for each finding.
  std::int64_t budget = kDefaultBudget;
  std::uint64_t seed = 1;
  microseconds base{0};  ///< no event is earlier
  microseconds tick{1};  ///< times are the base plus multiples of this
};

/// A schedule, the answers to it, and what they show.
struct LeaseFinding {
  Schedule schedule = {};
  Answers answers = {};
  LeaseScore score = {};
};

struct LeaseSearchResult {
  std::int64_t held = 0;    ///< the most that held at once in any schedule
  std::int64_t leaked = 0;  ///< the most slots that were lost in any schedule
  /// The shortest schedule that was found to hold more than the limit, or to lose a slot. Holders
  /// have the numbers from 1 in the order in which they come.
  std::optional<LeaseFinding> overfilled = {}, leak = {};
  bool leaks_for_ever = false;  ///< the slot is still taken a year later
  /// How many schedules an exhaustive search tried: all within bounds, unless `interrupted`.
  std::optional<std::int64_t> tried = {};
  std::int64_t undecided = 0;  ///< as in SearchResult
  microseconds settles{0};     ///< see lease_score_of()
  std::int64_t requests_sent = 0;
  bool interrupted = false;
};

/// No event of a search is later than this after the base; `events`: those of an exhaustive one.
microseconds latest_time(const LeaseSearchRequest& request, std::optional<int> events);

/// Tries schedules under which limiters are known to fail, then random ones until the budget is
/// used up, each with with_probe(). Then shrinks what was found. The same request gives the same
/// result. Throws what the trial throws. `worst` of the progress is the most that held.
LeaseSearchResult search_leases(Trial& trial, const LeaseSearchRequest& request,
                                const Interrupt& interrupt,
                                const OnSearchProgress& on_progress = {});
/// Tries every schedule of at most `events` events at critical times, each with with_probe(), and
/// shrinks what was found. Schedules that leave equal contents, and equal leases, are extended only
/// once; they all count.
LeaseSearchResult search_all_leases(Trial& trial, const LeaseSearchRequest& request, int events,
                                    const Interrupt& interrupt,
                                    const OnExhaustiveProgress& on_progress = {});

/// A trial of the model of `concurrency`.
class LeaseModelTrial final : public Trial {
 public:
  explicit LeaseModelTrial(const limiter::Limit& limit) : limit_(limit) {}
  std::vector<Answers> run(std::span<const Schedule> schedules) override;
  std::vector<std::string> contents() const override { return contents_; }

 private:
  limiter::Limit limit_;
  std::vector<std::string> contents_;
};

}  // namespace rlctl::adversary
