#include "adversary/schedule.h"

#include <initializer_list>
#include <utility>

#include "simulation/measurement.h"

namespace rlctl::adversary {
namespace {

// ---- Known schedules ----

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr microseconds kTick{1};
/// How far apart requests come that a coarse clock sees at one instant.
constexpr microseconds kWithinTick{500}, kFewTicks{10'000}, kEveryTick{1000};
/// The windows after which a client comes back.
constexpr int kLongPause = 4;

/// `count` requests from `at` on, `every` apart.
struct Burst {
  microseconds at{0};
  std::int64_t count = 1;
  microseconds every{0};
  std::int64_t cost = 1;
};

Schedule made_of(std::initializer_list<Burst> bursts) {
  Schedule schedule;
  for (const auto& [at, count, every, cost] : bursts) {
    for (std::int64_t i = 0; i < count; ++i) schedule.push_back({at + i * every, cost});
  }
  return schedule;
}

std::vector<Schedule> with_cost(std::vector<Schedule> schedules, std::int64_t cost) {
  for (auto& schedule : schedules) {
    for (auto& request : schedule) request.cost = cost;
  }
  return schedules;
}

/// The times from `least` to `most`, in this order, each once.
std::vector<microseconds> distinct(std::initializer_list<microseconds> times, microseconds least,
                                   microseconds most) {
  std::vector<microseconds> distinct;
  for (const auto time : times) {
    const bool is_known = std::find(distinct.begin(), distinct.end(), time) != distinct.end();
    if (time >= least && time <= most && !is_known) distinct.push_back(time);
  }
  return distinct;
}

/// The offsets in a window at which schedules begin.
std::vector<microseconds> phases(microseconds window) {
  return distinct({window - kTick, microseconds{0}, window / 2, window - milliseconds{1},
                   window - window / 10, window / 10, window - seconds{1}},
                  microseconds{0}, window - kTick);
}

/// All requests at once, or so close together that a coarse clock sees one instant.
void add_single_bursts(std::vector<Schedule>& schedules, const limiter::Limit& limit,
                       std::int64_t fills) {
  for (const auto every : {microseconds{0}, kTick, kWithinTick, kFewTicks}) {
    for (const auto phase : {microseconds{0}, limit.window / 2}) {
      schedules.push_back(made_of({{phase, 2 * fills + 1, every}}));
    }
  }
}

/// Two bursts, a gap apart, each of which fills the limit.
void add_pairs(std::vector<Schedule>& schedules, const limiter::Limit& limit, std::int64_t fills) {
  const auto places = phases(limit.window);
  for (const auto gap : critical_gaps(limit)) {
    for (const auto phase : places) {
      schedules.push_back(made_of({{phase, fills}, {phase + gap, fills}}));
    }
  }
}

/// How many requests refill within a window, at least 1.
std::int64_t refills_in_window(const limiter::Limit& limit, std::int64_t cost) {
  return std::max<std::int64_t>(1, limit.limit / cost);
}
/// The time in which a request of this cost refills.
microseconds refill_time(const limiter::Limit& limit, std::int64_t cost) {
  return std::max(limit.window / refills_in_window(limit, cost), kTick);
}

/// Requests at the rate at which a bucket fills: after a burst that empties it, and evenly from the
/// beginning; and a client that keeps trying until the window has passed.
void add_trickles(std::vector<Schedule>& schedules, const limiter::Limit& limit, std::int64_t cost,
                  std::int64_t fills) {
  const auto every = refill_time(limit, cost);
  const auto refills = refills_in_window(limit, cost);
  for (const auto phase : {microseconds{0}, limit.window - kTick}) {
    schedules.push_back(made_of({{phase, fills}, {phase + every, refills, every}}));
    schedules.push_back(made_of({{phase, 2 * refills, every}}));
    schedules.push_back(made_of({{phase, 2 * refills, std::max(every / 2, kTick)}}));
    schedules.push_back(made_of({{phase, fills},
                                 {phase + limit.window / 10, 9, limit.window / 10},
                                 {phase + limit.window, 1}}));
  }
  // Just below the resolution of a clock in ms or s, so that the last refill is in the same window.
  for (const microseconds late : {kEveryTick - kTick, microseconds{seconds{1}} - kTick}) {
    if (late < every) schedules.push_back(made_of({{late, fills}, {every, refills, every}}));
  }
  // For windows that begin with their first request: one that ends soon after all its other
  // requests. The margin is wide, since a TTL is only exact to the ms.
  const auto margin = std::min<microseconds>(seconds{1}, limit.window / 10);
  schedules.push_back(made_of(
      {{microseconds{0}, 1}, {limit.window - margin, fills - 1}, {limit.window + margin, fills}}));
}

}  // namespace

std::vector<Instant> instants_of(const Schedule& schedule) {
  std::vector<Instant> instants;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto& request = schedule[i];
    if (i == 0 || schedule[i - 1].at != request.at || !are_alike(schedule[i - 1], request)) {
      instants.push_back({.at = request.at, .cost = request.cost, .first = i});
    }
    ++instants.back().count;
  }
  return instants;
}

std::int64_t requests_of(std::span<const Schedule> schedules) {
  std::int64_t requests = 0;
  for (const auto& schedule : schedules) requests += static_cast<std::int64_t>(schedule.size());
  return requests;
}

std::uint32_t last_holder(const Schedule& schedule) {
  std::uint32_t last = 0;
  for (const auto& request : schedule) last = std::max(last, request.holder);
  return last;
}

bool steps_back(const Schedule& schedule) {
  return !std::is_sorted(schedule.begin(), schedule.end(), is_earlier);
}

Schedule shifted(Schedule schedule, microseconds by) {
  for (auto& request : schedule) request.at += by;
  return schedule;
}

std::int64_t requests_to_fill(const limiter::Limit& limit, std::int64_t cost) {
  return std::max<std::int64_t>(
      1, std::max(limit.limit, limit.burst_or_limit()) / std::max<std::int64_t>(cost, 1));
}

namespace {

/// The worst window of the departures, whose times count rounded down to the unit. Refunds come in
/// sending order between them; without any, a request may overtake one that is delayed.
void find_worst(Schedule departures, microseconds window, microseconds unit, Score& score) {
  const bool refunds = std::any_of(departures.begin(), departures.end(),
                                   [](const Request& departure) { return departure.cost < 0; });
  if (!refunds) std::stable_sort(departures.begin(), departures.end(), is_earlier);
  simulation::WorstWindow worst(window);
  microseconds latest{0};
  const auto rounded = [unit](const Request& departure) {
    return departure.at - departure.at % unit;
  };
  for (auto& departure : departures) {
    departure.at = latest = std::max(latest, departure.at);
    if (departure.cost < 0) {
      worst.refund(rounded(departure), -departure.cost);
    } else {
      worst.allow(rounded(departure), departure.cost);
    }
  }
  score.worst = worst.allowed();
  if (score.worst == 0) return;
  const auto until = worst.from() + worst.span();
  score.worst_from = std::ranges::lower_bound(departures, worst.from(), {}, rounded)->at;
  score.worst_span =
      std::prev(std::ranges::upper_bound(departures, until, {}, rounded))->at - score.worst_from;
}

}  // namespace

Score score_of(const Schedule& schedule, const Answers& answers, const limiter::Limit& limit,
               microseconds tick, microseconds unit) {
  Score score;
  Schedule departures;
  ExactLog log(limit.window);
  microseconds latest = schedule.empty() ? microseconds{0} : schedule.front().at;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto at = schedule[i].at;
    const auto cost = schedule[i].cost;
    latest = std::max(latest, at);
    if (answers[i].allowed) {
      departures.push_back({std::max(latest, at + answers[i].delay), cost});
      log.add(latest, cost);
    } else if (cost != 0 && log.counted(at) + cost <= limit.limit) {
      // More units count at the earlier of the two times, so what fits then fits at both.
      score.wrongly_denied.push_back(i);
      if (log.counted(at, tick) + cost > limit.limit) ++score.denied_at_edge;
    }
  }
  find_worst(std::move(departures), limit.window, unit, score);
  return score;
}

int margin_digits(const Score& score, microseconds window) {
  int digits = 0;
  auto margin = std::min(window - score.worst_span, window / 100);
  for (; margin.count() > 0; margin /= 10) ++digits;
  return digits;
}

std::vector<microseconds> critical_gaps(const limiter::Limit& limit) {
  const auto window = limit.window;
  return distinct({kTick,
                   window - kTick,
                   window,
                   window / 2,
                   milliseconds{1},
                   window - milliseconds{1},
                   window - seconds{1},
                   window - window / 10,
                   window * 3 / 4,
                   window / 4,
                   window / 10,
                   std::max(window / limit.limit, kTick),
                   window / 1000,
                   window / 100,
                   seconds{1},
                   window + kTick,
                   window + milliseconds{1},
                   window * 3 / 2,
                   2 * window - kTick,
                   2 * window},
                  kTick, 2 * window);
}

std::vector<Schedule> forward_schedules(const limiter::Limit& limit, std::int64_t cost,
                                        std::int64_t most) {
  const auto fills = requests_to_fill(limit, cost);
  std::vector<Schedule> schedules;
  schedules.push_back(made_of({{microseconds{0}, most}}));
  add_single_bursts(schedules, limit, fills);
  add_trickles(schedules, limit, cost, fills);
  for (const microseconds every : {kTick, kEveryTick}) {
    schedules.push_back(made_of({{microseconds{0}, most, every}}));
  }
  schedules.push_back(made_of({{microseconds{0}, 1}, {kLongPause * limit.window, most - 1}}));
  add_pairs(schedules, limit, fills);
  return with_cost(std::move(schedules), cost);
}

namespace {

/// Bursts that fill the limit, between which keys with this TTL end.
void add_bursts_between_ttls(std::vector<Schedule>& schedules, const limiter::Limit& limit,
                             std::int64_t fills, std::int64_t most, microseconds ttl) {
  constexpr auto kMargin = kTtlMargin;
  const auto window = limit.window;
  // Adds a schedule that goes on with bursts, as often as there is room for.
  const auto add_repeated = [&](Schedule schedule, microseconds from, microseconds until,
                                microseconds gap) {
    for (auto at = from; at < until; at += gap) {
      if (static_cast<std::int64_t>(schedule.size()) + fills > most) break;
      schedule.insert(schedule.end(), static_cast<std::size_t>(fills), {.at = at});
    }
    schedules.push_back(std::move(schedule));
  };
  for (const auto gap : {ttl + kMargin, ttl, ttl - kMargin}) {
    if (gap > microseconds{0}) add_repeated({}, microseconds{0}, window + gap, gap);
  }
  const auto gap = ttl + kMargin;
  if (ttl > kMargin) {
    const auto soon = ttl - kMargin;
    add_repeated(made_of({{microseconds{0}, 1}, {soon, fills - 1}}), gap, soon + window, gap);
  }
  if (3 * kMargin + ttl < window) {
    // Around the edge of a window of the clock: with a key that ends shortly before, and without.
    const auto first = window - 2 * kMargin - ttl, soon = window - 3 * kMargin;
    const auto last = window - kMargin;
    add_repeated(made_of({{first, 1}, {soon, fills - 1}, {last, fills}}), window, soon + window,
                 gap);
    add_repeated(made_of({{last, fills}}), window, last + window, gap);
  }
}

/// What refills is taken at once, at times that the limiter's clock sees as they are, and the
/// bucket stays empty until its key expires.
void add_refills_until_ttl(std::vector<Schedule>& schedules, const limiter::Limit& limit,
                           std::int64_t fills, std::int64_t most, microseconds every,
                           microseconds ttl, microseconds lag) {
  for (const auto phase : {limit.window / 20, microseconds{0}}) {
    const auto end = phase + ttl + kTtlMargin;
    if (end <= every) continue;
    auto begin = microseconds{0};
    auto count = end / every;
    if (count + 2 * fills > most) {
      begin = (end - limit.window) / every * every;
      count = (end - begin) / every;
    }
    if (count + 2 * fills >= most) continue;
    auto refilled = made_of({{begin + phase, fills}, {begin + every, count, every}, {end, fills}});
    if (begin > microseconds{0}) refilled.insert(refilled.begin(), {.at = phase});
    // The last one before the window comes into it, if it is as late as the clock does not see.
    auto late = refilled;
    for (auto& request : late) {
      const auto latest = request.at + lag - kTick;
      if (request.at + limit.window <= end && latest + limit.window > end) request.at = latest;
    }
    schedules.push_back(late);
    if (late != refilled) schedules.push_back(refilled);
  }
}

}  // namespace

std::vector<Schedule> ttl_schedules(const limiter::Limit& limit, std::int64_t cost,
                                    std::int64_t most, microseconds ttl, microseconds lag) {
  const auto fills = requests_to_fill(limit, cost);
  std::vector<Schedule> schedules;
  add_bursts_between_ttls(schedules, limit, fills, most, ttl);
  add_refills_until_ttl(schedules, limit, fills, most, refill_time(limit, cost), ttl, lag);
  for (auto& schedule : schedules) std::stable_sort(schedule.begin(), schedule.end(), is_earlier);
  return with_cost(std::move(schedules), cost);
}

std::vector<Schedule> continued_schedules(const Schedule& schedule, const limiter::Limit& limit,
                                          std::int64_t cost) {
  constexpr std::int64_t kMostRetries = 100, kWindows = 5;
  const auto latest = std::max_element(schedule.begin(), schedule.end(), is_earlier)->at;
  std::vector<Schedule> all;
  auto twice = schedule;
  const auto again = shifted(schedule, latest - schedule.front().at + limit.window + kTick);
  twice.insert(twice.end(), again.begin(), again.end());
  all.push_back(std::move(twice));
  // No fractions of a window, at which keys expire.
  for (const auto step : {limit.window * 10 / 97, refill_time(limit, cost), limit.window * 10 / 37,
                          limit.window * 10 / 317, refill_time(limit, cost) * 10 / 41}) {
    if (step <= microseconds{0}) continue;
    auto retried = schedule;
    const auto count = std::min(kMostRetries, kWindows * limit.window / step);
    for (std::int64_t i = 1; i <= count; ++i) retried.push_back({latest + i * step, cost});
    all.push_back(std::move(retried));
  }
  return all;
}

microseconds latest_of_forward(const limiter::Limit& limit, std::int64_t fills, std::int64_t most) {
  const auto window = limit.window;
  return std::max({window + 2 * fills * kFewTicks, most * kEveryTick, kLongPause * window,
                   window + 2 * fills * std::max(window / fills, kTick)});
}

std::vector<Schedule> backward_schedules(const limiter::Limit& limit, std::int64_t cost) {
  const auto fills = requests_to_fill(limit, cost);
  std::vector<Schedule> schedules;
  // Far enough from 0 for every step back.
  const auto start = 4 * limit.window;
  for (const auto step : critical_gaps(limit)) {
    for (const auto phase : {microseconds{0}, limit.window / 2, limit.window - kTick}) {
      const auto at = start + phase;
      schedules.push_back(made_of({{at, fills}, {at - step, fills}}));
      schedules.push_back(made_of({{at, fills}, {at - step, 1}, {at, fills}}));
      schedules.push_back(made_of({{at, fills}, {at + step, 1}, {at, fills}, {at + step, fills}}));
    }
  }
  return with_cost(std::move(schedules), cost);
}

std::vector<Schedule> refunding_schedules(const limiter::Limit& limit, std::int64_t cost,
                                          std::int64_t refund) {
  const auto fills = requests_to_fill(limit, cost), refunds = requests_to_fill(limit, -refund);
  std::vector<Schedule> schedules;
  for (const auto gap : critical_gaps(limit)) {
    for (const auto back_at : {microseconds{0}, gap, limit.window}) {
      // Fills, refunds and fills again, from shortly before the end of a window.
      for (const auto phase : {microseconds{0}, limit.window - kTick}) {
        schedules.push_back(
            made_of({{.at = phase, .count = fills, .cost = cost},
                     {.at = phase + back_at, .count = refunds, .cost = refund},
                     {.at = phase + std::max(back_at, gap), .count = fills, .cost = cost}}));
      }
    }
  }
  return schedules;
}

}  // namespace rlctl::adversary
