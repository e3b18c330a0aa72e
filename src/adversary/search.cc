#include "adversary/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "traffic/pattern.h"

namespace rlctl::adversary {

namespace {

/// The unit of a clock that rounds nothing.
constexpr microseconds kExact{1};
/// How many schedules run together, to share round trips.
constexpr std::size_t kAtOnce = 64;
/// How many of the best schedules the search keeps, to derive new ones from them.
constexpr std::size_t kBest = 12;
/// The share of the tries for clocks that step back.
constexpr double kBackwardShare = 0.1;
/// The latest time of a request, in windows, unless the known schedules take longer. Those with a
/// clock that steps back, or with refunds, do not.
constexpr std::int64_t kMaxWindows = 8;
/// The number of TTLs for which there are schedules.
constexpr std::size_t kMaxTtls = 8;

/// The requests that it takes to fill the limit with the smallest cost.
std::int64_t most_fills(const SearchRequest& request) {
  std::int64_t most = 1;
  for (const auto cost : request.costs) {
    if (cost > 0) most = std::max(most, requests_to_fill(request.limit, cost));
  }
  return most;
}

/// The most requests of a schedule.
std::int64_t most_requests(std::int64_t fills) {
  return 4 * fills + 8;
}

/// No request that waits for this TTL is later, after the base.
microseconds latest_with_ttl(microseconds ttl, const limiter::Limit& limit) {
  return ttl + 2 * limit.window;
}

/// The TTLs that keys have after a request, and after one more than fill the limit: each once, the
/// shortest first.
std::vector<microseconds> observed_ttls(Trial& trial, const SearchRequest& request) {
  const auto cost = request.costs[0];
  const auto fills = static_cast<std::size_t>(requests_to_fill(request.limit, cost));
  const Schedule one{{request.base, cost}};
  const Schedule full(fills + 1, {request.base, cost});
  std::vector<microseconds> all;
  try {
    std::int64_t sent = 0;
    all = learned_ttls(trial, {one, full}, sent);
  } catch (const Interrupted&) {
    return {};  // the search ends at once
  }
  std::erase_if(all, [](microseconds ttl) { return ttl <= microseconds{1}; });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// How many of the TTLs, of which the shortest are first, the search waits for.
std::size_t count_awaited(const std::vector<microseconds>& ttls, const SearchRequest& request) {
  const auto is_too_late = [&](microseconds ttl) {
    return ttl > limiter::kLatestNow - request.base ||
           request.base + latest_with_ttl(ttl, request.limit) > limiter::kLatestNow;
  };
  const auto late = std::find_if(ttls.begin(), ttls.end(), is_too_late);
  return std::min(kMaxTtls, static_cast<std::size_t>(late - ttls.begin()));
}

/// The units that the requests of a schedule ask for; refunds do not count.
std::int64_t units_of(const Schedule& schedule) {
  std::int64_t units = 0;
  for (const auto& request : schedule) units += std::max<std::int64_t>(request.cost, 0);
  return units;
}

/// The search with a clock that never steps back, or with one that may.
class SearchPass {
 public:
  SearchPass(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
             bool clock_steps_back, traffic::Random& random, const std::vector<microseconds>& ttls)
      : trial_(trial),
        request_(request),
        interrupt_(interrupt),
        clock_steps_back_(clock_steps_back),
        most_requests_(static_cast<std::size_t>(most_requests(most_fills(request)))),
        latest_(kMaxWindows * request.limit.window),
        gaps_(critical_gaps(request.limit)),
        ttls_(ttls),
        random_(random) {
    for (const auto ttl : ttls_) {
      latest_ = std::max(latest_, latest_with_ttl(ttl, request.limit));
      gaps_.push_back(ttl + kTtlMargin);
      if (ttl > kTtlMargin) gaps_.push_back(ttl - kTtlMargin);
    }
    if (request.clock_unit > kExact) gaps_.push_back(request.clock_unit - kExact);
  }

  /// Called after requests, with the number sent so far and the most units allowed.
  using OnRequests = std::function<void(std::int64_t sent, std::int64_t worst)>;

  /// Runs until it has sent `tries` requests, or the interrupt is raised.
  SearchResult run(std::int64_t tries, const OnRequests& on_requests) {
    try {
      try_all(tries, on_requests);
    } catch (const Interrupted&) {
      // What was found so far is kept.
    }
    result_.is_unbounded = has_no_bound();
    if (!best_.empty()) result_.most = std::move(best_.front());
    return std::move(result_);
  }

 private:
  void try_all(std::int64_t tries, const OnRequests& on_requests) {
    auto known = known_schedules();
    std::size_t next = 0;
    if (!ttls_.empty() && !clock_steps_back_ && !is_over(tries)) {
      // The first one shows whether there is a limit at all.
      run({known[next++]}, on_requests);
      if (!has_no_bound()) add_waiting(known, next);
    }
    for (bool is_first = true; !is_over(tries) || (is_first && has_no_bound()); is_first = false) {
      const bool is_known = next < known.size();
      std::vector<Schedule> some;
      while (some.size() < kAtOnce && (!is_known || next < known.size())) {
        some.push_back(is_known ? known[next++] : child());
      }
      run(std::move(some), on_requests);
    }
  }

  /// Inserts the schedules that wait for TTLs.
  void add_waiting(std::vector<Schedule>& known, std::size_t place) const {
    const auto lag = std::max(request_.clock_unit, request_.tick);
    for (const auto cost : request_.costs) {
      if (cost <= 0) continue;
      for (const auto ttl : ttls_) {
        const auto waiting = ttl_schedules(request_.limit, cost, most_with_ttl(cost), ttl, lag);
        known.insert(std::next(known.begin(), static_cast<std::ptrdiff_t>(place)), waiting.begin(),
                     waiting.end());
      }
    }
  }

  /// Whether one window allowed as many requests as a schedule may have.
  bool has_no_bound() const {
    // A script that starts over whenever a key expires is bounded all the same.
    const bool is_at_once =
        !best_.empty() && (ttls_.empty() || best_[0].score.worst_span < ttls_.front() / 2);
    const auto takes = [](const Request& request) { return request.cost > 0; };
    return is_at_once &&
           std::ranges::count_if(best_[0].schedule, takes) >=
               static_cast<std::ptrdiff_t>(most_requests_) &&
           best_[0].score.worst >= units_of(best_[0].schedule);
  }

  bool is_over(std::int64_t tries) const {
    // If everything is allowed, there is nothing more to find.
    return interrupt_.signal() != 0 || result_.requests_sent >= tries || has_no_bound();
  }

  std::vector<Schedule> known_schedules() const {
    std::vector<Schedule> all;
    for (const auto cost : request_.costs) {
      const auto most = static_cast<std::int64_t>(most_requests_);
      auto some = cost <= 0           ? refunding_schedules(request_.limit, request_.costs[0], cost)
                  : clock_steps_back_ ? backward_schedules(request_.limit, cost)
                                      : forward_schedules(request_.limit, cost, most);
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    if (request_.tick > kExact && !clock_steps_back_) {
      // As close as the limiter's clock cannot tell from a window.
      const auto cost = request_.costs[0];
      const auto fills = static_cast<std::size_t>(requests_to_fill(request_.limit, cost));
      auto& pair = all.emplace_back(fills, Request{request_.tick - kExact, cost});
      pair.insert(pair.end(), fills, {request_.limit.window, cost});
    }
    return all;
  }

  /// The most requests of a schedule that waits for TTLs: they may end often within a window.
  std::int64_t most_with_ttl(std::int64_t cost) const {
    constexpr std::int64_t kMostFills = 64, kShareOfTries = 40;
    const auto fills = requests_to_fill(request_.limit, cost);
    return std::max(static_cast<std::int64_t>(most_requests_),
                    std::min(kMostFills * fills, request_.tries / kShareOfTries));
  }

  void run(std::vector<Schedule> schedules, const OnRequests& on_requests) {
    for (auto& schedule : schedules) {
      for (auto& request : schedule) request.at += request_.base;
      result_.requests_sent += static_cast<std::int64_t>(schedule.size());
    }
    const auto answers = trial_.run(schedules);
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (answers[i].empty()) {
        ++result_.undecided;
      } else {
        keep(std::move(schedules[i]), answers[i]);
      }
    }
    on_requests(result_.requests_sent, best_.empty() ? 0 : best_[0].score.worst);
  }

  void keep(Schedule schedule, const Answers& answers) {
    Finding candidate{.answers = answers, .score = score_of(schedule, answers, request_)};
    candidate.schedule = std::move(schedule);
    result_.keep_early_denial(candidate.schedule, answers, request_.limit);
    const auto& denied = result_.wrongly_denied;
    result_.keep_denial(candidate, denied && candidate.schedule.size() < denied->schedule.size());
    if (!clock_steps_back_) result_.keep_rounding(candidate, request_);
    result_.has_stepped_back = result_.has_stepped_back || steps_back(candidate.schedule);
    const auto same = [&](const Finding& other) { return other.schedule == candidate.schedule; };
    if (std::any_of(best_.begin(), best_.end(), same)) return;
    const auto place = std::upper_bound(
        best_.begin(), best_.end(), candidate,
        [window = request_.limit.window](const Finding& one, const Finding& other) {
          return is_weaker(other, one, window);
        });
    best_.insert(place, std::move(candidate));
    if (best_.size() > kBest) best_.pop_back();
  }

  Schedule child() {
    constexpr double kFresh = 0.1;
    constexpr std::size_t kMaxChanges = 3;
    if (best_.empty() || random_.uniform() < kFresh) return fresh();
    auto schedule = shifted(best_[pick(best_.size())].schedule, -request_.base);
    const auto most = std::max(most_requests_, schedule.size());
    for (auto changes = 1 + pick(kMaxChanges); changes > 0; --changes) change(schedule);
    bring_within_bounds(schedule, most);
    return schedule;
  }

  /// A few bursts with gaps between them.
  Schedule fresh() {
    constexpr std::size_t kMaxBursts = 4;
    Schedule schedule;
    microseconds at = pick_gap();
    for (auto bursts = 1 + pick(kMaxBursts); bursts > 0; --bursts) {
      const auto cost = pick_cost();
      schedule.insert(schedule.end(), pick_count(cost), {at, cost});
      at += pick_gap();
    }
    bring_within_bounds(schedule, most_requests_);
    return schedule;
  }

  void change(Schedule& schedule) {
    const auto instants = instants_of(schedule);
    if (instants.empty()) return insert(schedule);
    const auto& instant = instants[pick(instants.size())];
    const auto begin = std::next(schedule.begin(), static_cast<std::ptrdiff_t>(instant.first));
    switch (pick(request_.costs.size() > 1 ? 5 : 4)) {
      case 0:
        return insert(schedule);
      case 1:
        schedule.erase(begin,
                       std::next(begin, static_cast<std::ptrdiff_t>(1 + pick(instant.count))));
        return;
      case 2:
        schedule.insert(begin, pick_count(instant.cost), {instant.at, instant.cost});
        return;
      case 3:
        if (request_.costs.size() > 1) return change_costs(schedule, instant);
        [[fallthrough]];
      default:
        return move_instant(schedule, instant);
    }
  }

  /// Moves an instant by a gap, or a gap away from another request; sometimes only a part of it.
  void move_instant(Schedule& schedule, const Instant& instant) {
    const auto sign = pick(2) == 0 ? 1 : -1;
    const auto from = pick(2) == 0 ? instant.at : schedule[pick(schedule.size())].at;
    const auto to = from + sign * pick_gap();
    const auto first = instant.first + (pick(4) == 0 ? pick(instant.count) : 0);
    for (auto i = first; i < instant.first + instant.count; ++i) schedule[i].at = to;
  }

  void change_costs(Schedule& schedule, const Instant& instant) {
    const auto cost = pick_cost();
    const auto first = instant.first + (pick(2) == 0 ? pick(instant.count) : 0);
    for (auto i = first; i < instant.first + instant.count; ++i) schedule[i].cost = cost;
  }

  void insert(Schedule& schedule) {
    if (schedule.empty()) {
      schedule = fresh();
      return;
    }
    const auto after = pick(schedule.size());
    const auto sign = pick(3) == 0 ? -1 : 1;
    const auto at = schedule[after].at + sign * pick_gap();
    const auto cost = pick_cost();
    schedule.insert(std::next(schedule.begin(), static_cast<std::ptrdiff_t>(after) + 1),
                    pick_count(cost), {at, cost});
  }

  /// Brings a schedule back within its bounds.
  void bring_within_bounds(Schedule& schedule, std::size_t most) const {
    if (schedule.size() > most) schedule.resize(most);
    if (schedule.empty()) schedule.push_back({.cost = request_.costs[0]});
    for (auto& request : schedule) request.at = std::clamp(request.at, microseconds{0}, latest_);
    if (clock_steps_back_) return;
    std::stable_sort(schedule.begin(), schedule.end(), is_earlier);
  }

  std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(random_.uniform() * static_cast<double>(count));
  }
  microseconds pick_gap() { return gaps_[pick(gaps_.size())]; }

  /// Takes no random number if there is only one cost.
  std::int64_t pick_cost() {
    return request_.costs.size() == 1 ? request_.costs[0]
                                      : request_.costs[pick(request_.costs.size())];
  }

  std::size_t pick_count(std::int64_t cost) {
    const auto fills = static_cast<std::size_t>(requests_to_fill(request_.limit, std::abs(cost)));
    const std::array counts{std::size_t{1}, fills, fills + 1, 2 * fills,
                            std::max(fills / 2, std::size_t{1})};
    return counts[pick(counts.size())];
  }

  Trial& trial_;
  const SearchRequest& request_;
  const Interrupt& interrupt_;
  bool clock_steps_back_;
  std::size_t most_requests_;
  microseconds latest_;  ///< no random request is later, after the base
  std::vector<microseconds> gaps_;
  const std::vector<microseconds>& ttls_;  ///< the shortest first
  traffic::Random& random_;
  std::vector<Finding> best_;  ///< best first
  SearchResult result_;
};

/// A complete search, whose findings are not confirmed.
SearchResult search_once(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                         const OnSearchProgress& on_progress) {
  traffic::Random random(request.seed);
  auto ttls = observed_ttls(trial, request);
  const auto observed = ttls.size();
  ttls.resize(count_awaited(ttls, request));
  std::int64_t before = 0, most = 0;
  const auto show = [&](std::int64_t sent) {
    if (on_progress) on_progress(before + sent, request.tries, most);
  };
  const auto run = [&](bool clock_steps_back, std::int64_t tries) {
    return SearchPass(trial, request, interrupt, clock_steps_back, random, ttls)
        .run(tries, [&](std::int64_t sent, std::int64_t worst) {
          most = std::max(most, worst);
          show(sent);
        });
  };
  const auto backward_tries =
      request.steps_back
          ? static_cast<std::int64_t>(kBackwardShare * static_cast<double>(request.tries))
          : 0;
  auto forward = run(false, request.tries - backward_tries);
  forward.ttls_left_out = observed - ttls.size();
  before = forward.requests_sent;
  const auto backward = request.steps_back ? run(true, backward_tries) : SearchResult();
  before = std::max(before + backward.requests_sent, request.tries);
  return shrunk_result(trial, request, forward, backward, interrupt, show);
}

/// The step of the limiter's clock, if that is fine compared with the window.
microseconds clock_step(const SearchRequest& request) {
  constexpr int kStepsOfWindow = 10;
  const bool is_fine = kStepsOfWindow * request.clock_unit <= request.limit.window;
  return is_fine ? std::max(request.tick, request.clock_unit) : request.tick;
}

}  // namespace

microseconds latest_time(const SearchRequest& request) {
  // No search takes place if the tries do not fill the limit.
  const auto fills = std::min(most_fills(request), request.tries);
  return std::max(kMaxWindows * request.limit.window,
                  latest_of_forward(request.limit, fills, most_requests(fills)));
}

Score score_of(const Schedule& schedule, const Answers& answers, const SearchRequest& request) {
  return score_of(schedule, answers, request.limit, clock_step(request), request.tick);
}

bool is_weaker(const Finding& one, const Finding& other, microseconds window) {
  if (one.score.worst != other.score.worst) return one.score.worst < other.score.worst;
  const auto digits = margin_digits(one.score, window);
  const auto other_digits = margin_digits(other.score, window);
  if (digits != other_digits) return digits < other_digits;
  return one.schedule.size() > other.schedule.size();
}

void SearchResult::keep_denial(const Finding& candidate, bool is_smaller) {
  if (candidate.score.wrongly_denied.empty()) return;
  if (wrongly_denied) {
    const bool is_minor = candidate.score.only_at_edge();
    const bool was_minor = wrongly_denied->score.only_at_edge();
    if (is_minor != was_minor ? is_minor : !is_smaller) return;
  }
  wrongly_denied = candidate;
}

void SearchResult::keep_rounding(const Finding& candidate, const SearchRequest& request) {
  if (request.tick <= kExact) return;
  auto exact = candidate;
  exact.score = score_of(exact.schedule, exact.answers, request.limit);
  if (exact.score.worst <= request.limit.limit) return;
  if (by_rounding && !is_weaker(*by_rounding, exact, request.limit.window)) return;
  by_rounding = std::move(exact);
}

void SearchResult::keep_early_denial(const Schedule& schedule, const Answers& answers,
                                     const limiter::Limit& limit) {
  const auto at_once = std::min(limit.limit, limit.burst_or_limit());
  std::int64_t units = 0;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto at = schedule[i].at;
    const auto cost = schedule[i].cost;
    if (at != schedule.front().at || cost <= 0 || units + cost > at_once) return;
    if (!answers[i].allowed) {
      denied_after = std::min(denied_after.value_or(units), units);
      return;
    }
    units += cost;
  }
}

std::vector<microseconds> learned_ttls(Trial& trial, const std::vector<Schedule>& schedules,
                                       std::int64_t& requests_sent) {
  std::vector<microseconds> all;
  for (const auto& schedule : schedules) {
    requests_sent += static_cast<std::int64_t>(schedule.size());
    const auto ttls = trial.ttls(schedule);
    all.insert(all.end(), ttls.begin(), ttls.end());
  }
  return all;
}

bool is_confirmed(Trial& trial, SearchResult& result) {
  std::vector<const Finding*> findings{&result.most};
  for (const auto* found :
       {&result.most_stepping_back, &result.by_rounding, &result.wrongly_denied}) {
    if (*found) findings.push_back(&**found);
  }
  return is_confirmed(trial, result, findings);
}

void require_enough_tries(const SearchRequest& request) {
  const auto fills = most_fills(request);
  if (request.tries / kMinFills >= fills) return;
  throw UsageError(
      fmt::format("{} requests are too few for a limit that {} requests fill", request.tries,
                  fills),
      fmt::format("pass --tries {} or more, or a smaller limit, which has the same flaws",
                  kMinFills * fills));
}

SearchResult search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                    const OnSearchProgress& on_progress) {
  return confirmed_result([&] { return search_once(trial, request, interrupt, on_progress); },
                          [&](SearchResult& result) { return is_confirmed(trial, result); });
}

namespace {

using namespace std::chrono_literals;

/// Round durations and the window itself, the roundest first.
std::vector<microseconds> round_steps(microseconds window) {
  std::vector<microseconds> steps{24h, 1h, 10min, 1min, 10s, 1s};
  for (microseconds step = 100ms; step >= 10us; step /= 10) steps.push_back(step);
  steps.push_back(window);
  std::sort(steps.rbegin(), steps.rend());
  std::erase_if(steps, [window](microseconds step) { return step > window; });
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

/// Whether a schedule with this score still shows what was found.
using StillShows = std::function<bool(const Score&)>;

/// Makes a finding smaller; see shrunk_result().
class Shrinking {
 public:
  /// `steps_back`: times may go back. The references must outlive this.
  Shrinking(Trial& trial, const SearchRequest& request, Finding found, bool steps_back,
            const StillShows& still_shows, const OnSent& on_sent)
      : trial_(trial),
        request_(request),
        still_shows_(still_shows),
        on_sent_(on_sent),
        steps_back_(steps_back),
        found_(std::move(found)) {}

  Finding run() {
    try {
      make_smaller();
    } catch (const Interrupted&) {
      // The schedule found so far shows the finding, too.
    }
    return std::move(found_);
  }
  /// The requests sent.
  std::int64_t requests_sent() const { return requests_sent_; }

 private:
  void make_smaller() {
    join_instants();  // first, since fewer instants take fewer requests
    drop_requests();
    join_instants();
    begin_early();
    round_times();
    begin_early();
    drop_requests();
  }

  void drop_requests() {
    drop_denied();
    // From the end, so that earlier instants keep their indexes.
    for (bool dropped = true; dropped;) {
      dropped = false;
      const auto instants = instants_of(found_.schedule);
      for (auto i = instants.size(); i-- > 0;) {
        auto instant = instants[i];
        for (auto before = found_.schedule.size(); instant.count > 0 && drop_from(instant);) {
          dropped = true;
          instant.count -= before - found_.schedule.size();
          before = found_.schedule.size();
        }
      }
    }
  }

  /// Moves instants to the one before them, as many at once as still show the finding.
  void join_instants() {
    for (std::size_t i = 1; i < instants_of(found_.schedule).size();) {
      const auto instants = instants_of(found_.schedule);
      const auto before = instants[i - 1].at;
      std::vector<Schedule> candidates;
      for (auto count = instants.size() - i; count > 0; count /= 2) {
        const auto& last = instants[i + count - 1];
        auto joined = found_.schedule;
        for (auto j = instants[i].first; j < last.first + last.count; ++j) joined[j].at = before;
        candidates.push_back(std::move(joined));
      }
      if (!take_first_of(std::move(candidates))) ++i;
    }
  }

  void round_times() {
    const auto steps = round_steps(request_.limit.window);
    constexpr int kRounds = 3;
    bool rounded = true;
    for (int i = 0; i < kRounds && rounded; ++i) {
      rounded = false;
      for (const auto& instant : instants_of(found_.schedule)) {
        // An earlier move may have joined or shifted this instant; the next round tries it again.
        if (instant.first >= found_.schedule.size()) break;
        if (found_.schedule[instant.first].at != instant.at) continue;
        rounded |= round(instant, steps);
      }
    }
  }

  /// Moves the schedule to the window at `base`, if that still shows the finding.
  void begin_early() {
    const auto earliest =
        std::min_element(found_.schedule.begin(), found_.schedule.end(), is_earlier);
    const auto windows = (earliest->at - request_.base) / request_.limit.window;
    if (windows == 0) return;
    const auto early = shifted(found_.schedule, -windows * request_.limit.window);
    static_cast<void>(take_first_of({early}));
  }

  /// Takes the first candidate that still shows the finding; the best come first. False if none
  /// does, or if the tries are used up.
  bool take_first_of(std::vector<Schedule> candidates) {
    std::erase_if(candidates, [this](const Schedule& schedule) { return !is_within(schedule); });
    const auto requests = requests_of(candidates);
    if (requests_sent_ + requests > request_.tries) return false;
    requests_sent_ += requests;
    if (on_sent_) on_sent_(requests_sent_);
    auto answers = trial_.run(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (answers[i].empty()) continue;
      auto score = score_of(candidates[i], answers[i], request_);
      if (!still_shows_(score)) continue;
      found_ = {std::move(candidates[i]), std::move(answers[i]), std::move(score)};
      return true;
    }
    return false;
  }

  bool is_within(const Schedule& schedule) const {
    if (!steps_back_ && steps_back(schedule)) return false;
    return std::all_of(schedule.begin(), schedule.end(), [&](const Request& request) {
      const auto offset = request.at - request_.base;
      return offset >= 0us && request.at <= limiter::kLatestNow;
    });
  }

  bool drop_denied() {
    Schedule allowed;
    for (std::size_t i = 0; i < found_.schedule.size(); ++i) {
      if (found_.answers[i].allowed) allowed.push_back(found_.schedule[i]);
    }
    const bool is_smaller = !allowed.empty() && allowed.size() < found_.schedule.size();
    return is_smaller && take_first_of({allowed});
  }

  /// Drops all of an instant's requests, or as many as possible.
  bool drop_from(const Instant& instant) {
    std::vector<Schedule> candidates;
    for (auto count = instant.count; count > 0; count /= 2) {
      auto without = found_.schedule;
      const auto first = std::next(without.begin(), static_cast<std::ptrdiff_t>(instant.first));
      without.erase(first, std::next(first, static_cast<std::ptrdiff_t>(count)));
      if (!without.empty()) candidates.push_back(std::move(without));
    }
    return take_first_of(std::move(candidates));
  }

  /// Moves an instant to the roundest time that still shows the finding: together with all later
  /// ones, which keeps the gaps between them, or alone.
  bool round(const Instant& instant, const std::vector<microseconds>& steps) {
    std::vector<Schedule> candidates;
    const auto end = instant.first + instant.count;
    for (const auto step : steps) {
      const auto past = instant.at % step;
      if (past == 0us) break;
      for (const auto by : {-past, step - past}) {
        for (const auto last : {found_.schedule.size(), end}) {
          auto moved = found_.schedule;
          for (auto i = instant.first; i < last; ++i) moved[i].at += by;
          candidates.push_back(std::move(moved));
          if (end == found_.schedule.size()) break;  // both are the same
        }
      }
    }
    return take_first_of(std::move(candidates));
  }

  Trial& trial_;
  const SearchRequest& request_;
  const StillShows& still_shows_;
  const OnSent& on_sent_;
  bool steps_back_;
  Finding found_;
  std::int64_t requests_sent_ = 0;
};

}  // namespace

namespace {

/// Runs schedules that continue a finding's, and calls `judge` with each that was answered. Returns
/// whether any was. Sends nothing if that would take more than there are tries.
bool run_continued(Trial& trial, const SearchRequest& request, SearchResult& result,
                   std::vector<Schedule> schedules,
                   const std::function<void(const Finding&)>& judge) {
  std::erase_if(schedules, [](const Schedule& schedule) {
    return std::any_of(schedule.begin(), schedule.end(),
                       [](const Request& each) { return each.at > limiter::kLatestNow; });
  });
  const auto requests = requests_of(schedules);
  if (schedules.empty() || requests > request.tries) return false;
  result.requests_sent += requests;
  const auto answers = trial.run(schedules);
  bool any_answered = false;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (answers[i].empty()) continue;
    any_answered = true;
    Finding finding{.schedule = schedules[i], .answers = answers[i]};
    finding.score = score_of(finding.schedule, finding.answers, request);
    judge(finding);
  }
  return any_answered;
}

/// Finds out whether a denial at the edge is all that differs: sets SearchResult::edge_agrees, or
/// keeps a denial that is more serious.
void continue_edge(Trial& trial, const SearchRequest& request, SearchResult& result) {
  const auto edge = result.wrongly_denied;
  if (!edge || !edge->score.only_at_edge()) return;
  const auto number = edge->score.wrongly_denied.front();
  auto later = edge->schedule;
  later.resize(number + 1);
  later.back().at += clock_step(request);
  bool is_allowed_later = false;
  run_continued(trial, request, result, {later},
                [&](const Finding& found) { is_allowed_later = found.answers.back().allowed; });
  const bool is_answered =
      run_continued(trial, request, result,
                    continued_schedules(edge->schedule, request.limit, edge->schedule[number].cost),
                    [&](const Finding& found) { result.keep_denial(found, false); });
  result.edge_agrees =
      is_allowed_later && is_answered && result.wrongly_denied->score.only_at_edge();
}

}  // namespace

SearchResult shrunk_result(Trial& trial, const SearchRequest& request, const SearchResult& forward,
                           const SearchResult& stepping_back, const Interrupt& interrupt,
                           const OnSent& on_sent) {
  const auto window = request.limit.window;
  auto result = forward;
  result.has_stepped_back = stepping_back.has_stepped_back;
  result.undecided += stepping_back.undecided;
  result.requests_sent += stepping_back.requests_sent;
  auto scored = request;  // as the findings that are made smaller are
  const auto shrink = [&](Finding& finding, bool steps_back, const StillShows& still_shows) {
    if (interrupt.signal() != 0) return;
    Shrinking shrinking(trial, scored, std::move(finding), steps_back, still_shows, on_sent);
    finding = shrinking.run();
    result.requests_sent += shrinking.requests_sent();
  };
  // A smaller schedule counts only if it allows as many units, in a span that is not much longer.
  const auto shrink_most = [&](Finding& finding, bool steps_back) {
    const auto units = finding.score.worst;
    const auto digits = margin_digits(finding.score, window);
    shrink(finding, steps_back, [&](const Score& score) {
      return score.worst >= units && margin_digits(score, window) >= digits;
    });
  };
  if (!result.most.schedule.empty()) shrink_most(result.most, false);
  if (result.by_rounding && result.by_rounding->score.worst <= result.most.score.worst) {
    result.by_rounding.reset();
  } else if (result.by_rounding) {
    scored.tick = kExact;
    shrink_most(*result.by_rounding, false);
    scored = request;
  }
  if (stepping_back.most.score.worst > forward.most.score.worst) {
    result.most_stepping_back = stepping_back.most;
    shrink_most(*result.most_stepping_back, true);
  }
  if (stepping_back.wrongly_denied) result.keep_denial(*stepping_back.wrongly_denied, false);
  if (auto& wrong = result.wrongly_denied) {
    // A smaller schedule counts only if its denial is equally serious.
    const bool is_minor = wrong->score.only_at_edge();
    shrink(*wrong, steps_back(wrong->schedule), [is_minor](const Score& score) {
      return !score.wrongly_denied.empty() && (is_minor || !score.only_at_edge());
    });
  }
  result.interrupted = interrupt.signal() != 0;
  if (result.interrupted) return result;
  try {
    const auto before = result.wrongly_denied;
    continue_edge(trial, request, result);
    if (result.tried) {
      // A proof is about the schedules that were tried for it.
      result.wrongly_denied = before;
      return result;
    }
    auto& wrong = result.wrongly_denied;
    if (wrong && wrong->schedule != before->schedule) {
      shrink(*wrong, steps_back(wrong->schedule), [](const Score& score) {
        return !score.wrongly_denied.empty() && !score.only_at_edge();
      });
    }
    result.interrupted = interrupt.signal() != 0;
  } catch (const Interrupted&) {
    result.interrupted = true;
  }
  return result;
}

}  // namespace rlctl::adversary
