#include <algorithm>
#include <chrono>

#include "adversary/holding_rules.h"

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;
using traffic::Event;

/// Actual costs: nothing, less, just as much and more.
std::vector<std::int64_t> actual_costs(std::int64_t units) {
  if (units == 1) return {0, 1, 2};
  return {0, units / 2, units, units + (units + 1) / 2};
}

/// The events of reservations.
class BudgetRules final : public HoldingRules {
 public:
  explicit BudgetRules(const HoldingSearch& search)
      : HoldingRules(search, {search.hold, 2 * search.hold}) {}

  std::vector<Schedule> typical_schedules() const override {
    const auto one = begin().reserve(units());
    return {one.schedule(), ScheduleBuilder(one).settle(1, units()).schedule(),
            begin().reserve(limit()).settle(1, limit()).reserve(1).schedule()};
  }
  /// A new holder asks for everything, long after all others are gone.
  Schedule probe_after(microseconds last, std::uint32_t last_holder) const override {
    const auto at = last + search().limit.window + 2 * search().hold + grace();
    return {{.at = on_tick(at) + search().tick,
             .cost = limit(),
             .event = Event::kReserve,
             .holder = last_holder + 1,
             .hold = search().hold}};
  }

  std::vector<Schedule> known_schedules() const override {
    // A limiter may have room for only some reservations of a key, as `budget` does.
    constexpr std::int64_t kMostReserved = 100;
    std::vector<Schedule> all;
    const auto add = [&all](const ScheduleBuilder& built) { all.push_back(built.schedule()); };
    const auto full = begin().reserve(limit());
    const auto each = std::max(units(), limit() / kMostReserved + 1);
    add(begin().reserve(each, limit() / each + 1));
    add(ScheduleBuilder(full).settle(1, limit()).reserve(1));
    add(ScheduleBuilder(full).settle(1, 2 * limit()).reserve(1));
    add(ScheduleBuilder(full).settle(1, 0).settle(1, 0).reserve(limit()).reserve(limit()));
    add(begin().settle_unknown(limit(), 0).reserve(limit()).reserve(limit()));
    // One that was denied is settled.
    add(ScheduleBuilder(full).reserve(units()).settle(2, 0).reserve(units()));
    add(ScheduleBuilder(full).reserve_again(1).settle(1, 0).reserve(limit()));
    if (units() < limit()) {
      const auto rest = limit() - units();
      add(begin().reserve(units()).settle(1, units()).settle(1, units()).reserve(rest));
      add(begin().reserve(units()).reserve_again(1).reserve(rest));
    }
    for (const auto gap : gaps()) {
      for (const auto actual : {std::int64_t{0}, limit(), 2 * limit()}) {
        const auto later = ScheduleBuilder(full).wait(gap);
        add(ScheduleBuilder(later).settle(1, actual).reserve(limit()).reserve(limit()));
        add(ScheduleBuilder(later).settle(1, actual).settle(1, actual).reserve(limit()).reserve(1));
        add(ScheduleBuilder(later).reserve(limit()).settle(1, actual).reserve(limit()));
        add(ScheduleBuilder(later).reserve(1).settle(1, actual).reserve(limit()).reserve(limit()));
      }
      for (const auto later : gaps()) {
        add(begin().reserve(units()).wait(gap).reserve(limit()).wait(later).reserve(limit()));
        add(ScheduleBuilder(full).wait(gap).reserve_again(1).wait(later).reserve(limit()));
      }
    }
    // Around the edge of a window.
    for (const auto edge : edges()) {
      const auto at = next_window(search().base) + edge;
      add(begin()
              .wait_until(at - whole(search().hold / 2))
              .reserve(limit())
              .wait_until(at)
              .reserve(1));
      add(ScheduleBuilder(full).settle(1, limit()).wait_until(at).reserve(limit()).reserve(1));
    }
    // One dies while others come and go.
    auto busy = begin().reserve(1);
    constexpr int kMostOthers = 40;
    const auto end = grace() + 2 * search().hold;
    const auto pause = std::max({search().hold / 2, end / kMostOthers, search().tick});
    for (microseconds passed{0}; passed < end; passed += pause) {
      busy.wait(whole(pause)).reserve(1).settle(busy.last(), 0);
    }
    add(busy.reserve(limit()));
    return all;
  }

  Schedule new_schedule(traffic::Random& random) const override {
    constexpr std::int64_t kMost = 30;
    const auto length = 2 + below(random, std::min(3 * (limit() / units()) + 8, kMost));
    auto builder = begin();
    for (std::int64_t i = 0; i < length; ++i) {
      const auto pause = random.uniform();
      if (i > 0 && pause < 0.45) {
        builder.wait(gap_of(random));
      } else if (i > 0 && pause < 0.55) {
        const auto edge = below(random, static_cast<std::int64_t>(edges().size()));
        builder.wait_until(next_window(builder.at()) + edges()[static_cast<std::size_t>(edge)]);
      }
      const auto kind = random.uniform();
      const auto known = static_cast<std::uint32_t>(1 + below(random, builder.last()));
      if (kind < 0.45 || builder.last() == 0) {
        builder.reserve(random.uniform() < 0.6 ? units() : 1 + below(random, limit()));
      } else if (kind < 0.5) {
        builder.settle_unknown(units(), below(random, 2 * units()));
      } else if (kind < 0.6) {
        builder.reserve_again(known);
      } else {
        const auto costs = actual_costs(builder.units_of(known));
        const auto cost = below(random, static_cast<std::int64_t>(costs.size()));
        builder.settle(known, costs[static_cast<std::size_t>(cost)]);
      }
    }
    return builder.schedule();
  }

  std::vector<Schedule> simpler(const Schedule& schedule) const override {
    std::vector<Schedule> all;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      const auto& request = schedule[i];
      if (request.event == Event::kReserve && request.cost != units()) {
        all.push_back(schedule);
        for (auto& each : all.back()) {
          if (each.holder == request.holder) each.cost = units();
        }
      }
      if (request.event != Event::kSettle || request.actual == 0) continue;
      for (const auto actual : {std::int64_t{0}, request.cost}) {
        if (request.actual == actual) continue;
        all.push_back(schedule);
        all.back()[i].actual = actual;
      }
    }
    return all;
  }

  /// At once, after half a hold, around the ends of holds and the next edge of the windows; of
  /// `budget` also around the ends of what is remembered, of others around those of TTLs.
  std::vector<microseconds> times_after(const Schedule& schedule,
                                        const Answers& answers) const override {
    const auto last = schedule.back().at;
    std::vector<microseconds> times{last, last + whole(search().hold / 2)};
    const auto is_of_hold = [&](microseconds gap) {
      return std::ranges::any_of(durations(), [&](microseconds duration) {
        return gap >= duration - kTtlMargin && gap <= duration + kTtlMargin;
      });
    };
    for (const auto gap : gaps()) {
      if (!search().is_exact && !is_of_hold(gap)) times.push_back(last + gap);
    }
    auto ends = ledger_after(schedule, answers).ends();
    ends.push_back(next_window(last));
    for (const auto end : ends) {
      for (const auto edge : edges()) {
        if (search().is_exact && std::chrono::abs(edge) > search().tick) continue;
        if (end + edge > last) times.push_back(on_tick(end + edge));
      }
    }
    return times;
  }
  /// New IDs may be reserved or settled; known IDs too.
  std::vector<Request> events_after(const Schedule& schedule) const override {
    const auto hold = search().hold;
    const auto known = last_holder(schedule);
    const auto units_of = units_by_id(schedule);
    std::vector<Request> events;
    for (std::uint32_t id = 1; id <= known + 1; ++id) {
      const auto its = units_of[id];
      events.push_back({.cost = its, .event = Event::kReserve, .holder = id, .hold = hold});
      if (id > known && its < limit()) {
        events.push_back({.cost = limit(), .event = Event::kReserve, .holder = id, .hold = hold});
      }
      for (const auto actual : id > known ? std::vector{its} : actual_costs(its)) {
        events.push_back(
            {.cost = its, .event = Event::kSettle, .holder = id, .actual = actual, .hold = hold});
      }
    }
    return events;
  }
  std::string state_key(const Schedule& schedule, const Answers& answers) const override {
    auto key = HoldingRules::state_key(schedule, answers);
    // Events to come are about these, denied ones too.
    for (const auto units : units_by_id(schedule)) key += '/' + std::to_string(units);
    return key;
  }

 private:
  std::int64_t limit() const { return search().limit.limit; }
  std::int64_t units() const { return search().units; }
  ScheduleBuilder begin() const { return ScheduleBuilder(search()); }
  /// The units of each reservation; also of the next new ID.
  std::vector<std::int64_t> units_by_id(const Schedule& schedule) const {
    std::vector<std::int64_t> all(last_holder(schedule) + std::size_t{2}, units());
    for (const auto& request : schedule) all[request.holder] = request.cost;
    return all;
  }
  microseconds next_window(microseconds at) const {
    return limiter::period_of(search().limit, at).end;
  }
};

}  // namespace

std::unique_ptr<HoldingRules> make_budget_rules(const HoldingSearch& search) {
  return std::make_unique<BudgetRules>(search);
}

}  // namespace rlctl::adversary
