#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adversary/schedule.h"
#include "adversary/trial.h"
#include "base/wait.h"
#include "traffic/pattern.h"

// The engine of every search for schedules under which a limiter fails. A SearchEngine sends
// schedules to a limiter and gives the answers to Rules, which judge them. There are rules of
// requests (request_rules.h), of leases and of reservations (holding_rules.h). Rules say which
// schedules are known to make limiters fail, make others by chance, know what may follow a
// schedule, and how a schedule that fails becomes simpler. The engine has the rest: batches, the
// number of tries, progress, interrupts, the times after which keys expire, and the confirmation of
// findings.
//
// An exhaustive search takes its schedules from another place: it extends each by every request
// that may follow. It goes to the end of one schedule before it takes the next, so that few wait.
// Holders have too many events for that; their schedules are extended by length, so that those
// which leave equal states can be extended once.

namespace rlctl::adversary {

/// Called while a search runs: the requests that were sent or, in an exhaustive search, the
/// schedules that were tried; their share of all; and the most units that were allowed so far.
using OnProgress = std::function<void(std::int64_t count, double share, std::int64_t worst)>;

/// What a search tells besides its findings.
struct SearchTotals {
  /// How many schedules an exhaustive search tried: all within bounds, unless `interrupted`.
  std::optional<std::int64_t> tried = {};
  /// The schedules that were left out, since their answers depend on when a key expires.
  std::int64_t undecided = 0;
  std::int64_t requests_sent = 0;
  bool interrupted = false;
};

class Shrinking;

/// Which schedules there are, and what is wrong about the answers to them.
class Rules {
 public:
  virtual ~Rules() = default;

  /// Schedules under which limiters are known to fail, the most promising first; empty if there are
  /// no more. The next call comes once these are judged.
  virtual std::vector<Schedule> next_known() = 0;
  /// A schedule by chance.
  virtual Schedule new_schedule(traffic::Random& random) const = 0;
  /// Whether new schedules resemble the best ones so far, and therefore wait for the answers to all
  /// before.
  virtual bool learns() const = 0;
  /// Requests that follow a schedule, whose last request has this time, to show what it left; its
  /// holders have the numbers up to `last_holder`.
  virtual Schedule probe_after(microseconds /*last*/, std::uint32_t /*last_holder*/) const {
    return {};
  }

  /// Keeps what the answers show. There is one for each request.
  virtual void judge(Schedule schedule, Answers answers) = 0;
  /// The most units that were allowed so far.
  virtual std::int64_t most() const = 0;
  /// Whether there is nothing more to find.
  virtual bool is_done() const { return false; }

  // For an exhaustive search.

  /// Every request that may come next.
  virtual std::vector<Request> requests_after(const Schedule& schedule,
                                              const Answers& answers) const = 0;
  /// Whether schedules that leave equal states are extended only once. If they are, all of a length
  /// come before those that are longer.
  virtual bool merges_states() const { return false; }
  /// What else decides about scores to come, besides the state of the limiter.
  virtual std::string state_key(const Schedule& /*schedule*/, const Answers& /*answers*/) const {
    return {};
  }
  /// The next calls of is_worth_judging() are about requests after this schedule, which must stay.
  virtual void begin_after(const Schedule& /*schedule*/, const Answers& /*answers*/) {}
  /// Whether judge() may find anything in the schedule with this request at its end.
  virtual bool is_worth_judging(const Request& /*request*/, const Answer& /*answer*/) const {
    return true;
  }

  /// Offers simpler schedules, until none still shows the finding.
  virtual void simplify(Shrinking& finding) const = 0;
};

/// Whether another schedule with these answers still shows a finding. May shorten both.
using StillShows = std::function<bool(Schedule& schedule, Answers& answers)>;

/// Sends the schedules of one search, and counts them.
class SearchEngine {
 public:
  /// `tries`: how many requests the search sends, and how many again at most to make one finding
  /// smaller. The interrupt ends whatever it does; what was found so far is kept. The references
  /// must outlive this.
  SearchEngine(std::int64_t tries, const Interrupt& interrupt, const OnProgress& on_progress)
      : tries_(tries), interrupt_(interrupt), on_progress_(on_progress) {}

  /// Tries the known schedules and then others, until `tries` requests are sent.
  void try_some(Trial& trial, Rules& rules, traffic::Random& random, std::int64_t tries);
  /// Tries every schedule of at most `requests` requests.
  void try_all(Trial& trial, Rules& rules, int requests);
  /// Lets the rules simplify a schedule, for as many requests at most as there are tries.
  void shrink(Trial& trial, const Rules& rules, Schedule& schedule, Answers& answers,
              const StillShows& still_shows);
  /// The answers to each schedule; empty if they depend on chance.
  std::vector<Answers> run(Trial& trial, std::span<const Schedule> schedules);

  bool is_interrupted() const { return interrupt_.signal() != 0; }
  SearchTotals totals() const;

 private:
  class Exhaustion;
  friend class Shrinking;

  void judge(Rules& rules, Schedule schedule, Answers answers, std::int64_t schedules = 1);
  void show_progress();

  std::int64_t tries_;
  const Interrupt& interrupt_;
  const OnProgress& on_progress_;
  SearchTotals totals_;
  double share_ = 0;       ///< of all schedules of an exhaustive search
  std::int64_t most_ = 0;  ///< the most units that were allowed
};

/// A schedule that becomes simpler while it still shows what was found.
class Shrinking {
 public:
  /// Sends at most as many requests as the engine has tries. The references must outlive this.
  Shrinking(SearchEngine& engine, Trial& trial, Schedule& schedule, Answers& answers,
            const StillShows& still_shows)
      : engine_(engine),
        trial_(trial),
        schedule_(schedule),
        answers_(answers),
        still_shows_(still_shows),
        left_(engine.tries_) {}

  const Schedule& schedule() const { return schedule_; }
  const Answers& answers() const { return answers_; }
  /// Takes the first candidate that still shows the finding; the best come first. False if none
  /// does, or if they have more requests than are left.
  bool take_first_of(std::vector<Schedule> candidates);

 private:
  SearchEngine& engine_;
  Trial& trial_;
  Schedule& schedule_;
  Answers& answers_;
  const StillShows& still_shows_;
  std::int64_t left_;
};

/// How long after the schedules' last requests the limiter's keys end: each time once, the shortest
/// first. Empty if an interrupt ends it.
std::vector<microseconds> learned_ttls(Trial& trial, std::span<const Schedule> schedules);

/// A result whose findings the trial has confirmed; interrupted if an interrupt ended that.
template <typename Result>
Result confirmed(Trial& trial, Result result) {
  if (result.interrupted) return result;
  try {
    for (const auto* finding : result.findings())
      trial.confirm(finding->schedule, finding->answers);
  } catch (const Interrupted&) {
    result.interrupted = true;
  }
  return result;
}

}  // namespace rlctl::adversary
