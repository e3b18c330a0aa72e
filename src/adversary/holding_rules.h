#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "adversary/holdings.h"
#include "adversary/schedule.h"
#include "adversary/search_engine.h"
#include "simulation/holds.h"
#include "traffic/pattern.h"

// The rules of a search for holders (search_engine.h), and what differs between those of leases
// (leases.cc) and of reservations (budgets.cc).

namespace rlctl::adversary {

/// Longer than whatever ends at all.
inline constexpr microseconds kYear = std::chrono::hours{8760};

/// The rules of leases or of reservations: which events there are, and when they may come.
class HoldingRules : public Rules {
 public:
  /// `durations`: after which something of a holder ends, the shortest first.
  HoldingRules(const HoldingSearch& search, std::vector<microseconds> durations);

  /// Schedules that leave what a limiter stores.
  virtual std::vector<Schedule> typical_schedules() const = 0;
  /// Sets what follows from how long keys live, sorted: the critical times, and how long something
  /// may stay taken.
  void set_ttls(std::vector<microseconds> ttls);
  /// A unit may stay occupied this long after its hold ended.
  microseconds grace() const { return grace_; }

  HoldingScore score_of(const Schedule& schedule, const Answers& answers) const {
    return holding_score_of(schedule, answers, search_, grace_);
  }
  /// Whether the answers show a leak, or else that too much is held. Cuts what comes after that.
  bool shows(bool is_leak, Schedule& schedule, Answers& answers) const;

  std::vector<Schedule> next_known() override;
  bool learns() const override { return false; }
  void judge(Schedule schedule, Answers answers) override;
  std::int64_t most() const override { return result_.held; }
  std::vector<Request> requests_after(const Schedule& schedule,
                                      const Answers& answers) const override;
  bool merges_states() const override { return true; }
  std::string state_key(const Schedule& schedule, const Answers& answers) const override;
  void simplify(Shrinking& finding) const override;

  /// The findings so far, without totals.
  const HoldingSearchResult& result() const { return result_; }

 protected:
  virtual std::vector<Schedule> known_schedules() const = 0;
  /// Schedules of as many events with simpler numbers, none of which leads back to the schedule.
  virtual std::vector<Schedule> simpler(const Schedule& /*schedule*/) const { return {}; }
  /// In an exhaustive search, the times at which the next event may come, unsorted.
  virtual std::vector<microseconds> times_after(const Schedule& schedule,
                                                const Answers& answers) const = 0;
  /// In an exhaustive search, the events that may come next; their times are not set.
  virtual std::vector<Request> events_after(const Schedule& schedule) const = 0;

  const HoldingSearch& search() const { return search_; }
  std::span<const microseconds> gaps() const { return gaps_; }
  std::span<const microseconds> edges() const { return edges_; }
  std::span<const microseconds> durations() const { return durations_; }
  simulation::Holds ledger_after(const Schedule& schedule, const Answers& answers) const;
  /// The time as one that a search may use.
  microseconds on_tick(microseconds time) const {
    return search_.base + whole(time - search_.base);
  }
  microseconds whole(microseconds time) const { return time - time % search_.tick; }
  /// One of the gaps, by chance.
  microseconds gap_of(traffic::Random& random) const;

 private:
  void keep(std::optional<HoldingFinding>& known, std::size_t events, Schedule schedule,
            Answers answers) const;
  std::vector<Schedule> with_smaller_gap(const Schedule& schedule, std::size_t event) const;

  HoldingSearch search_;
  std::vector<microseconds> durations_;
  std::vector<microseconds> gaps_, edges_;  ///< critical gaps; moments around the end of something
  microseconds grace_{0};
  bool gave_known_ = false;  ///< next_known() was called
  HoldingSearchResult result_;
};

/// A number from 0 to count - 1.
std::int64_t below(traffic::Random& random, std::int64_t count);

std::unique_ptr<HoldingRules> make_lease_rules(const HoldingSearch& search);
std::unique_ptr<HoldingRules> make_budget_rules(const HoldingSearch& search);

/// Builds a schedule, one event after another.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(const HoldingSearch& search);

  ScheduleBuilder& wait(microseconds time);
  ScheduleBuilder& wait_until(microseconds time);
  /// Acquires or reserves by `count` new holders, who ask for one unit each, or for `units`.
  ScheduleBuilder& take(std::int64_t count = 1) { return reserve(1, count); }
  ScheduleBuilder& reserve(std::int64_t units, std::int64_t count = 1);
  /// An event of a holder; a new one has the units of the search.
  ScheduleBuilder& add(traffic::Event event, std::uint32_t holder, std::int64_t actual = 0);
  /// An event of each of `count` holders.
  ScheduleBuilder& each(traffic::Event event, std::uint32_t first, std::int64_t count);
  ScheduleBuilder& reserve_again(std::uint32_t id) { return add(traffic::Event::kReserve, id); }
  ScheduleBuilder& settle(std::uint32_t id, std::int64_t actual) {
    return add(traffic::Event::kSettle, id, actual);
  }

  /// A settle of an ID that nobody has reserved, with these units.
  ScheduleBuilder& settle_unknown(std::int64_t units, std::int64_t actual);

  std::uint32_t last() const { return static_cast<std::uint32_t>(units_.size()); }
  std::int64_t units_of(std::uint32_t id) const { return units_[id - 1]; }
  microseconds at() const { return at_; }
  const Schedule& schedule() const { return schedule_; }

 private:
  const simulation::HoldVocabulary* vocabulary_;
  microseconds at_, hold_;
  std::int64_t usual_units_;
  std::vector<std::int64_t> units_;  ///< of the holder with the number i + 1
  Schedule schedule_;
};

}  // namespace rlctl::adversary
