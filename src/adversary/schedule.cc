#include "adversary/schedule.h"

#include <algorithm>
#include <initializer_list>

#include "traffic/measurement.h"

namespace rlctl::adversary {
namespace {

// --- Known schedules -----------------------------------------------------------------------------

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr microseconds kTick{1};

/// `count` requests from `at` on, `every` apart.
struct Burst {
  microseconds at{0};
  std::int64_t count = 1;
  microseconds every{0};
};

Schedule made_of(std::initializer_list<Burst> bursts) {
  Schedule schedule;
  for (const auto& [at, count, every] : bursts) {
    for (std::int64_t i = 0; i < count; ++i) schedule.push_back(at + i * every);
  }
  return schedule;
}

/// Appends `time` unless it is already there.
void add_once(std::vector<microseconds>& times, microseconds time) {
  if (std::find(times.begin(), times.end(), time) == times.end()) times.push_back(time);
}

/// The offsets in a window at which schedules begin.
std::vector<microseconds> phases(microseconds window) {
  std::vector<microseconds> phases;
  const std::vector<microseconds> candidates{
      window - kTick,       microseconds{0}, window / 2,         window - milliseconds{1},
      window - window / 10, window / 10,     window - seconds{1}};
  for (const auto phase : candidates) {
    if (phase >= microseconds{0} && phase < window) add_once(phases, phase);
  }
  return phases;
}

/// All requests at once, or so close together that a coarse clock sees one instant.
void add_single_bursts(std::vector<Schedule>& probes, const limiter::Limit& limit,
                       std::int64_t fills) {
  for (const auto every : {microseconds{0}, kTick, microseconds{500}, microseconds{10'000}}) {
    for (const auto phase : {microseconds{0}, limit.window / 2}) {
      probes.push_back(made_of({{phase, 2 * fills + 1, every}}));
    }
  }
}

/// Two bursts, a gap apart, each of which fills the limit.
void add_pairs(std::vector<Schedule>& probes, const limiter::Limit& limit, std::int64_t fills) {
  const auto places = phases(limit.window);
  for (const auto gap : telling_gaps(limit)) {
    for (const auto phase : places) {
      probes.push_back(made_of({{phase, fills}, {phase + gap, fills}}));
    }
  }
}

/// Requests at the rate at which a bucket fills: after a burst that empties it, and evenly from the
/// beginning; and a client that keeps trying until the window has passed.
void add_trickles(std::vector<Schedule>& probes, const limiter::Limit& limit, std::int64_t fills) {
  const auto every = std::max(limit.window / fills, kTick);
  for (const auto phase : {microseconds{0}, limit.window - kTick}) {
    probes.push_back(made_of({{phase, fills}, {phase + every, fills, every}}));
    probes.push_back(made_of({{phase, 2 * fills, every}}));
    probes.push_back(made_of({{phase, 2 * fills, std::max(every / 2, kTick)}}));
    probes.push_back(made_of({{phase, fills},
                              {phase + limit.window / 10, 9, limit.window / 10},
                              {phase + limit.window, 1}}));
  }
  // For windows that begin with their first request: one that ends soon after all its other
  // requests. The margin is wide, since a TTL is only exact to the ms.
  const auto margin = std::min<microseconds>(seconds{1}, limit.window / 10);
  probes.push_back(made_of(
      {{microseconds{0}, 1}, {limit.window - margin, fills - 1}, {limit.window + margin, fills}}));
}

}  // namespace

std::vector<Instant> instants_of(const Schedule& schedule) {
  std::vector<Instant> instants;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (instants.empty() || instants.back().at != schedule[i]) {
      instants.push_back({.at = schedule[i], .first = i});
    }
    ++instants.back().count;
  }
  return instants;
}

bool steps_back(const Schedule& schedule) {
  return !std::is_sorted(schedule.begin(), schedule.end());
}

Score score_of(const Schedule& schedule, const Answers& answers, const limiter::Limit& limit,
               std::int64_t cost) {
  Score score;
  std::vector<microseconds> departures;
  std::vector<microseconds> log;  // what an exact log holds, oldest first
  const auto counted_at = [&](microseconds at) {
    return log.end() - std::upper_bound(log.begin(), log.end(), at - limit.window);
  };
  microseconds latest = schedule.empty() ? microseconds{0} : schedule.front();
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    latest = std::max(latest, schedule[i]);
    if (answers[i].allowed) {
      departures.push_back(std::max(latest, schedule[i] + answers[i].delay));
      log.push_back(latest);
    } else if ((counted_at(schedule[i]) + 1) * cost <= limit.limit) {
      // More requests count at the earlier of the two times, so one that fits then fits at both.
      score.wrongly_denied.push_back(i);
    }
  }
  std::sort(departures.begin(), departures.end());
  traffic::WorstWindow worst(limit.window);
  for (const auto at : departures) worst.allow(at, cost);
  score.worst = worst.allowed();
  score.worst_from = worst.from();
  score.worst_span = worst.span();
  return score;
}

std::vector<microseconds> telling_gaps(const limiter::Limit& limit) {
  const auto window = limit.window;
  std::vector<microseconds> gaps;
  const std::vector<microseconds> candidates{kTick,
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
                                             2 * window};
  for (const auto gap : candidates) {
    if (gap > microseconds{0} && gap <= 2 * window) add_once(gaps, gap);
  }
  return gaps;
}

std::vector<Schedule> forward_schedules(const limiter::Limit& limit, std::int64_t fills,
                                        std::int64_t most) {
  std::vector<Schedule> probes;
  probes.push_back(made_of({{microseconds{0}, most}}));
  add_single_bursts(probes, limit, fills);
  add_trickles(probes, limit, fills);
  for (const microseconds every : {kTick, microseconds{1000}}) {
    probes.push_back(made_of({{microseconds{0}, most, every}}));
  }
  probes.push_back(made_of({{microseconds{0}, 1}, {4 * limit.window, most - 1}}));
  add_pairs(probes, limit, fills);
  return probes;
}

std::vector<Schedule> backward_schedules(const limiter::Limit& limit, std::int64_t fills) {
  std::vector<Schedule> probes;
  // Far enough from 0 for every step back.
  const auto start = 4 * limit.window;
  for (const auto step : telling_gaps(limit)) {
    for (const auto phase : {microseconds{0}, limit.window / 2, limit.window - kTick}) {
      const auto at = start + phase;
      probes.push_back(made_of({{at, fills}, {at - step, fills}}));
      probes.push_back(made_of({{at, fills}, {at - step, 1}, {at, fills}}));
      probes.push_back(made_of({{at, fills}, {at + step, 1}, {at, fills}, {at + step, fills}}));
    }
  }
  return probes;
}

}  // namespace rlctl::adversary
