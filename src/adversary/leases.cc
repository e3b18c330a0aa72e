#include <algorithm>

#include "adversary/holding_rules.h"

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;
using traffic::Event;

/// The events of leases.
class LeaseRules final : public HoldingRules {
 public:
  explicit LeaseRules(const HoldingSearch& search) : HoldingRules(search, {search.limit.window}) {}

  std::vector<Schedule> typical_schedules() const override {
    const auto full = begin().take(search().limit.limit + 1);
    return {begin().take().schedule(), full.schedule(),
            ScheduleBuilder(full).each(Event::kRelease, 1, 1).schedule()};
  }
  /// New holders ask for everything at one instant, long after all others are gone.
  Schedule probe_after(microseconds last, std::uint32_t last_holder) const override {
    Schedule probe;
    for (std::int64_t i = 1; i <= search().limit.limit; ++i) {
      probe.push_back(
          {.at = last + lease() + grace(), .holder = last_holder + static_cast<std::uint32_t>(i)});
    }
    return probe;
  }
  std::vector<Schedule> known_schedules() const override {
    const auto limit = search().limit.limit;
    std::vector<Schedule> all;
    const auto add = [&all](const ScheduleBuilder& built) { all.push_back(built.schedule()); };
    const auto full = begin().take(limit);
    add(ScheduleBuilder(full).take());
    add(begin().take().each(Event::kRelease, 1, 1).each(Event::kRelease, 1, 1).take(limit + 1));
    add(ScheduleBuilder(full)
            .each(Event::kRelease, 1, limit)
            .each(Event::kRelease, 1, limit)
            .take(2 * limit));
    add(begin().add(Event::kRelease, 1).take(limit + 1));
    // Clients that release although they were denied.
    add(ScheduleBuilder(full)
            .take(limit)
            .each(Event::kRelease, static_cast<std::uint32_t>(limit) + 1, limit)
            .take(limit));
    add(begin().take().each(Event::kRequest, 1, 1).each(Event::kRelease, 1, 1).take(limit));
    for (const auto gap : gaps()) {
      add(ScheduleBuilder(full).wait(gap).take(limit).each(Event::kRelease, 1, limit).take(limit));
      add(ScheduleBuilder(full).wait(gap).take(limit).each(Event::kRenew, 1, limit).take(limit));
      add(ScheduleBuilder(full).wait(gap).each(Event::kRelease, 1, limit).take(2 * limit));
      for (const auto later : gaps()) {
        add(begin().take().wait(gap).take(limit).wait(later).take(limit));
        add(ScheduleBuilder(full).wait(gap).each(Event::kRenew, 1, limit).wait(later).take(limit));
        add(ScheduleBuilder(full)
                .wait(gap)
                .each(Event::kRequest, 1, limit)
                .wait(later)
                .take(limit));
      }
    }
    // One dies while others come and go.
    auto busy = begin().take();
    for (microseconds passed{0}; passed < grace() + 2 * lease(); passed += lease() / 2) {
      busy.wait(whole(lease() / 2)).take().add(Event::kRelease, busy.last());
    }
    add(busy.take(limit));
    if (!search().renews) {
      for (auto& schedule : all) {
        std::erase_if(schedule, [](const Request& each) { return each.event == Event::kRenew; });
      }
    }
    return all;
  }

  Schedule new_schedule(traffic::Random& random) const override {
    constexpr std::int64_t kMost = 40;
    const auto length = 2 + below(random, std::min(3 * search().limit.limit + 6, kMost));
    auto builder = begin();
    for (std::int64_t i = 0; i < length; ++i) {
      if (i > 0 && random.uniform() < 0.5) {
        builder.wait(gap_of(random));
      }
      const auto kind = random.uniform();
      const auto known = static_cast<std::uint32_t>(1 + below(random, builder.last()));
      if (kind < 0.45 || builder.last() == 0) {
        builder.take();
      } else if (kind < 0.5) {
        builder.add(Event::kRelease, builder.last() + 1);
      } else if (kind < 0.85) {
        builder.add(Event::kRelease, known);
      } else {
        builder.add(search().renews && kind < 0.95 ? Event::kRenew : Event::kRequest, known);
      }
    }
    return builder.schedule();
  }

  /// The critical gaps after the last event, and around the ends of the leases that run.
  std::vector<microseconds> times_after(const Schedule& schedule,
                                        const Answers& answers) const override {
    const auto last = schedule.back().at;
    std::vector<microseconds> times;
    for (const auto gap : gaps()) times.push_back(last + gap);
    for (const auto end : ledger_after(schedule, answers).ends()) {
      for (const auto edge : edges()) {
        if (end > last && end + edge >= last) times.push_back(on_tick(end + edge));
      }
    }
    return times;
  }
  /// New holders may acquire or release; known ones may also acquire again and renew.
  std::vector<Request> events_after(const Schedule& schedule) const override {
    const auto known = last_holder(schedule);
    std::vector<Request> events{{.event = Event::kRequest, .holder = known + 1},
                                {.event = Event::kRelease, .holder = known + 1}};
    for (std::uint32_t holder = 1; holder <= known; ++holder) {
      events.push_back({.event = Event::kRequest, .holder = holder});
      events.push_back({.event = Event::kRelease, .holder = holder});
      if (search().renews) events.push_back({.event = Event::kRenew, .holder = holder});
    }
    return events;
  }

 private:
  ScheduleBuilder begin() const { return ScheduleBuilder(search()); }
  microseconds lease() const { return search().limit.window; }
};

}  // namespace

std::unique_ptr<HoldingRules> make_lease_rules(const HoldingSearch& search) {
  return std::make_unique<LeaseRules>(search);
}

}  // namespace rlctl::adversary
