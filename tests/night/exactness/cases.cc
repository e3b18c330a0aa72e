#include "night/exactness/cases.h"

#include <algorithm>
#include <utility>

#include "limiter/check.h"
#include "support/lease_calls.h"
#include "support/random.h"
#include "support/schedule.h"

namespace rlctl::test {
namespace {

using namespace std::chrono_literals;

/// The script keeps state by the caller's clock for this much longer.
constexpr microseconds kMargin = 1h;
/// Some scripts keep it until the end of a second, and round up.
constexpr microseconds kSecond = 1'002ms;

std::int64_t to_ms(microseconds time) {
  return time / 1ms;
}

/// No script sets a TTL that is more than a quarter longer than needed; the counter needs a window
/// more than reset_after if only the window before has units.
std::int64_t most_ttl_ms(microseconds longest_reset, microseconds longest_window) {
  return to_ms((longest_reset + longest_window + kMargin + kSecond) * 5 / 4);
}

Freedom freedom_of(Clocks clocks, bool alternates = false) {
  if (alternates) return Freedom::kAlternating;
  switch (clocks) {
    case Clocks::kCallers:
      return Freedom::kCalendar;
    case Clocks::kCallersAging:
      return Freedom::kHourBack;
    case Clocks::kServersAging:
      break;
  }
  return Freedom::kForward;
}

std::vector<std::string> copied(redis::Arguments words) {
  return {words.begin(), words.end()};
}

void add_requests(Case& made, const limiter::Algorithm& algorithm, Random& random,
                  const std::string& prefix, bool alternates) {
  PlannedSchedule plan = plan_schedule(algorithm, random, freedom_of(made.clocks, alternates));
  limiter::CheckCommand command(algorithm);
  microseconds latest{0}, longest_reset{0}, longest_window{0};
  for (std::size_t i = 0; i < plan.schedule.size(); ++i) {
    Request& request = plan.schedule[i];
    latest = std::max(latest, *request.now);
    longest_reset = std::max(longest_reset, plan.decisions[i].reset_after);
    if (algorithm.name == "sliding-window-counter") {
      for (const Limit& limit : request.limits) {
        longest_window = std::max(longest_window, limit.window);
      }
    }
    for (auto& key : request.keys) key.insert(0, prefix);
    if (made.clocks == Clocks::kServersAging && random.percent(60)) request.now.reset();
    const auto call = command.of(request);
    made.steps.push_back({.keys = std::move(request.keys),
                          .arguments = copied(call.arguments),
                          .servers_clock = latest,
                          .decision = plan.decisions[i]});
  }
  for (const auto& [name, exists, reset_after] : plan.keys) {
    auto& key = made.keys.emplace_back(Case::Key{.name = prefix + name, .exists = exists});
    if (reset_after) key.least_ttl_ms = to_ms(*reset_after + kMargin);
    key.most_ttl_ms = most_ttl_ms(longest_reset, longest_window);
  }
}

void add_lease_calls(Case& made, Random& random, const std::string& prefix) {
  const PlannedLeaseCalls plan = plan_lease_calls(random, freedom_of(made.clocks));
  Case::Key key{.name = prefix + "a", .exists = plan.exists};
  microseconds latest{0}, longest_reset{0};
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    const LeaseCall& call = plan.calls[i];
    latest = std::max(latest, call.now);
    longest_reset = std::max(longest_reset, plan.decisions[i].reset_after);
    const bool by_servers = made.clocks == Clocks::kServersAging && random.percent(60);
    made.steps.push_back({.keys = {key.name},
                          .arguments = call.arguments(by_servers),
                          .servers_clock = latest,
                          .decision = plan.decisions[i]});
  }
  if (plan.exists && plan.decisions.back().allowed) {
    key.least_ttl_ms = to_ms(plan.decisions.back().reset_after + kMargin);
  }
  key.most_ttl_ms = most_ttl_ms(longest_reset, 0us);
  made.keys.push_back(std::move(key));
}

/// The first choice of every case. Limits alternate only where keys do not age.
Clocks draw_clocks(Random& random, bool alternates) {
  if (alternates) return Clocks::kCallers;
  const auto kind = random.uniform(1, 100);
  if (kind <= 97) return Clocks::kCallers;
  return kind == 98 ? Clocks::kCallersAging : Clocks::kServersAging;
}

}  // namespace

std::optional<Schedule> schedule_of_case(const limiter::Algorithm& algorithm, std::uint64_t seed,
                                         bool alternates) {
  Random random(seed);
  const auto clocks = draw_clocks(random, alternates);
  if (clocks != Clocks::kCallers || !limiter::counts_requests(algorithm)) return std::nullopt;
  return plan_schedule(algorithm, random, freedom_of(clocks, alternates)).schedule;
}

Case make_case(const limiter::Algorithm& algorithm, std::uint64_t seed, const std::string& prefix,
               bool alternates) {
  Random random(seed);
  Case made;
  made.seed = seed;
  made.clocks = draw_clocks(random, alternates);
  if (limiter::counts_requests(algorithm)) {
    add_requests(made, algorithm, random, prefix, alternates);
  } else {
    add_lease_calls(made, random, prefix);
  }
  return made;
}

}  // namespace rlctl::test
