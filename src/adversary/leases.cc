#include "adversary/leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "limiter/lease_model.h"
#include "traffic/pattern.h"

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;
using traffic::Event;

/// Writes schedules, one event after another.
class Plot {
 public:
  explicit Plot(microseconds base) : at_(base) {}

  Plot& wait(microseconds time) {
    at_ += time;
    return *this;
  }
  Plot& acquire(std::int64_t count = 1) {
    for (std::int64_t i = 0; i < count; ++i) add(Event::kRequest, ++last_);
    return *this;
  }
  /// An event of each of these holders.
  Plot& each(Event event, std::uint32_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(event, first + static_cast<std::uint32_t>(i));
    return *this;
  }
  Plot& add(Event event, std::uint32_t holder) {
    last_ = std::max(last_, holder);
    schedule_.push_back({.at = at_, .event = event, .holder = holder});
    return *this;
  }
  std::uint32_t last() const { return last_; }
  Schedule schedule() const { return schedule_; }

 private:
  microseconds at_;
  std::uint32_t last_ = 0;
  Schedule schedule_;
};

/// The events of leases.
class LeaseRules final : public HoldingRules {
 public:
  explicit LeaseRules(const HoldingSearch& search) : HoldingRules(search, {search.limit.window}) {}

  std::vector<Schedule> typical_schedules() const override {
    const auto full = Plot(search().base).acquire(search().limit.limit + 1);
    return {Plot(search().base).acquire().schedule(), full.schedule(),
            Plot(full).each(Event::kRelease, 1, 1).schedule()};
  }
  Schedule with_probe(Schedule schedule) const override {
    return adversary::with_probe(std::move(schedule), search().limit, settles());
  }
  std::vector<Schedule> known_schedules() const override {
    const auto limit = search().limit.limit;
    const auto base = search().base;
    std::vector<Schedule> all;
    const auto add = [&all](const Plot& plot) { all.push_back(plot.schedule()); };
    const auto full = Plot(base).acquire(limit);
    add(Plot(full).acquire());
    add(Plot(base)
            .acquire()
            .each(Event::kRelease, 1, 1)
            .each(Event::kRelease, 1, 1)
            .acquire(limit + 1));
    add(Plot(full)
            .each(Event::kRelease, 1, limit)
            .each(Event::kRelease, 1, limit)
            .acquire(2 * limit));
    add(Plot(base).add(Event::kRelease, 1).acquire(limit + 1));
    // Clients that release although they were denied.
    add(Plot(full)
            .acquire(limit)
            .each(Event::kRelease, static_cast<std::uint32_t>(limit) + 1, limit)
            .acquire(limit));
    add(Plot(base)
            .acquire()
            .each(Event::kRequest, 1, 1)
            .each(Event::kRelease, 1, 1)
            .acquire(limit));
    for (const auto gap : gaps()) {
      add(Plot(full).wait(gap).acquire(limit).each(Event::kRelease, 1, limit).acquire(limit));
      add(Plot(full).wait(gap).acquire(limit).each(Event::kRenew, 1, limit).acquire(limit));
      add(Plot(full).wait(gap).each(Event::kRelease, 1, limit).acquire(2 * limit));
      for (const auto later : gaps()) {
        add(Plot(base).acquire().wait(gap).acquire(limit).wait(later).acquire(limit));
        add(Plot(full).wait(gap).each(Event::kRenew, 1, limit).wait(later).acquire(limit));
        add(Plot(full).wait(gap).each(Event::kRequest, 1, limit).wait(later).acquire(limit));
      }
    }
    // One dies while others come and go.
    auto busy = Plot(base).acquire();
    for (microseconds passed{0}; passed < settles() + 2 * lease(); passed += lease() / 2) {
      busy.wait(whole(lease() / 2)).acquire().add(Event::kRelease, busy.last());
    }
    add(busy.acquire(limit));
    if (!search().renews) {
      for (auto& schedule : all) {
        std::erase_if(schedule, [](const Request& each) { return each.event == Event::kRenew; });
      }
    }
    return all;
  }

  Schedule random_schedule(traffic::Random& random) const override {
    constexpr std::int64_t kMost = 40;
    const auto length = 2 + below(random, std::min(3 * search().limit.limit + 6, kMost));
    Plot plot(search().base);
    for (std::int64_t i = 0; i < length; ++i) {
      if (i > 0 && random.uniform() < 0.5) {
        plot.wait(gap_of(random));
      }
      const auto kind = random.uniform();
      const auto known = static_cast<std::uint32_t>(1 + below(random, plot.last()));
      if (kind < 0.45 || plot.last() == 0) {
        plot.acquire();
      } else if (kind < 0.5) {
        plot.add(Event::kRelease, plot.last() + 1);
      } else if (kind < 0.85) {
        plot.add(Event::kRelease, known);
      } else {
        plot.add(search().renews && kind < 0.95 ? Event::kRenew : Event::kRequest, known);
      }
    }
    return plot.schedule();
  }

  /// The critical gaps after the last event, and around the ends of the leases that run.
  std::vector<microseconds> times_after(const Schedule& schedule,
                                        const Answers& answers) const override {
    const auto last = schedule.back().at;
    std::vector<microseconds> times;
    for (const auto gap : gaps()) times.push_back(last + gap);
    for (const auto end : ledger_after(schedule, answers).ends()) {
      for (const auto edge : edges()) {
        if (end > last && end + edge >= last)
          times.push_back(search().base + whole(end + edge - search().base));
      }
    }
    return times;
  }
  /// Of a new holder an acquire or a release, of each other one whatever there is.
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
  microseconds lease() const { return search().limit.window; }
};

}  // namespace

Schedule with_probe(Schedule schedule, const limiter::Limit& limit, microseconds settles) {
  if (schedule.empty()) return schedule;
  const auto at = schedule.back().at + limit.window + settles;
  const auto last = last_holder(schedule);
  for (std::int64_t i = 1; i <= limit.limit; ++i) {
    schedule.push_back({.at = at, .holder = last + static_cast<std::uint32_t>(i)});
  }
  return schedule;
}

HoldingSearchResult search_leases(Trial& trial, const HoldingSearch& request,
                                  const Interrupt& interrupt, const OnSearchProgress& on_progress) {
  constexpr std::int64_t kMinProbes = 50;
  if (request.tries / kMinProbes < request.limit.limit) {
    throw UsageError(fmt::format(
        "--tries: {} events are too few for {} leases: give at least {}, or search with fewer "
        "leases, which show the same flaws",
        request.tries, request.limit.limit, kMinProbes * request.limit.limit));
  }
  LeaseRules rules(request);
  return search_holdings(trial, rules, request, interrupt, on_progress);
}

HoldingSearchResult search_all_leases(Trial& trial, const HoldingSearch& request, int events,
                                      const Interrupt& interrupt,
                                      const OnExhaustiveProgress& on_progress) {
  LeaseRules rules(request);
  return search_all_holdings(trial, rules, request, events, interrupt, on_progress);
}

std::vector<Answers> LeaseModelTrial::run(std::span<const Schedule> schedules) {
  std::vector<Answers> answers(schedules.size());
  contents_.assign(schedules.size(), {});
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    limiter::LeaseModel model;
    for (const auto& request : schedules[i]) {
      const auto decision =
          traffic::decide(model, limit_, request.event, request.holder, request.at);
      answers[i].push_back({.allowed = decision.allowed, .retry_after = decision.retry_after});
    }
    for (const auto& [holder, lapse] : model.lapses()) {
      if (lapse <= schedules[i].back().at) continue;
      contents_[i] += holder + '=' + std::to_string(lapse.count()) + ' ';
    }
  }
  return answers;
}

}  // namespace rlctl::adversary
