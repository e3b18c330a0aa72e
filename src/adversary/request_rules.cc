#include "adversary/request_rules.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;

/// How many of the best schedules the rules keep, to derive new ones from them.
constexpr std::size_t kBest = 12;

/// The units that the requests of a schedule ask for; refunds do not count.
std::int64_t units_of(const Schedule& schedule) {
  std::int64_t units = 0;
  for (const auto& request : schedule) units += std::max<std::int64_t>(request.cost, 0);
  return units;
}

/// Whether `one` is a weaker finding than `other`: it has fewer units or, with equal units, a much
/// longer span or, if that is about equal too, more requests.
bool is_weaker(const Finding& one, const Finding& other, microseconds window) {
  if (one.score.worst != other.score.worst) return one.score.worst < other.score.worst;
  const auto digits = margin_digits(one.score, window);
  const auto other_digits = margin_digits(other.score, window);
  if (digits != other_digits) return digits < other_digits;
  return one.schedule.size() > other.schedule.size();
}

/// Whether a schedule is shorter, or equally long with earlier times.
bool comes_before(const Schedule& one, const Schedule& other) {
  if (one.size() != other.size()) return one.size() < other.size();
  const auto [of_one, of_other] = std::ranges::mismatch(one, other);
  if (of_one == one.end()) return false;
  return of_one->at != of_other->at ? of_one->at < of_other->at : of_one->cost < of_other->cost;
}

// ---- Schedules by chance ----

/// Makes schedules, from time 0 on.
class Mutation {
 public:
  /// The references must outlive this.
  Mutation(const SearchRequest& request, const RandomBounds& bounds, traffic::Random& random)
      : request_(request), bounds_(bounds), random_(random) {}

  /// A few changes to one of the best schedules, or sometimes another one.
  Schedule child(std::span<const Finding> best) {
    constexpr double kFresh = 0.1;
    constexpr std::size_t kMaxChanges = 3;
    if (best.empty() || random_.uniform() < kFresh) return fresh();
    auto schedule = shifted(best[pick(best.size())].schedule, -request_.base);
    const auto most = std::max(bounds_.most_requests, schedule.size());
    for (auto changes = 1 + pick(kMaxChanges); changes > 0; --changes) change(schedule);
    bring_within_bounds(schedule, most);
    return schedule;
  }

 private:
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
    bring_within_bounds(schedule, bounds_.most_requests);
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
    for (auto& request : schedule)
      request.at = std::clamp(request.at, microseconds{0}, bounds_.latest);
    if (bounds_.may_step_back) return;
    std::stable_sort(schedule.begin(), schedule.end(), is_earlier);
  }

  std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(random_.uniform() * static_cast<double>(count));
  }
  microseconds pick_gap() { return bounds_.gaps[pick(bounds_.gaps.size())]; }

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

  const SearchRequest& request_;
  const RandomBounds& bounds_;
  traffic::Random& random_;
};

// ---- Simpler schedules ----

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

/// Offers schedules that are simpler than a finding's. If its clock never steps back, theirs do
/// not.
class Simplification {
 public:
  Simplification(const SearchRequest& request, Shrinking& finding)
      : request_(request), finding_(finding), may_step_back_(steps_back(finding.schedule())) {}

  void run() {
    join_instants();  // first, since fewer instants take fewer requests
    drop_requests();
    join_instants();
    begin_early();
    round_times();
    begin_early();
    drop_requests();
  }

 private:
  void drop_requests() {
    drop_denied();
    for (bool dropped = true; dropped;) {
      dropped = false;
      const auto instants = instants_of(schedule());
      // From the end, so that earlier instants keep their indexes.
      for (auto i = instants.size(); i-- > 0;) {
        const auto others = schedule().size() - instants[i].count;
        while (schedule().size() > others &&
               drop_from(instants[i].first, schedule().size() - others)) {
          dropped = true;
        }
      }
    }
  }

  /// Moves instants to the one before them, as many at once as still show the finding.
  void join_instants() {
    for (std::size_t i = 1; i < instants_of(schedule()).size();) {
      const auto instants = instants_of(schedule());
      const auto before = instants[i - 1].at;
      std::vector<Schedule> candidates;
      for (auto count = instants.size() - i; count > 0; count /= 2) {
        const auto& last = instants[i + count - 1];
        auto joined = schedule();
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
      for (const auto& instant : instants_of(schedule())) {
        // An earlier move may have joined or shifted this instant; the next round tries it again.
        if (instant.first >= schedule().size()) break;
        if (schedule()[instant.first].at != instant.at) continue;
        rounded |= round(instant, steps);
      }
    }
  }

  /// Moves the schedule to the window at `base`, if that still shows the finding.
  void begin_early() {
    const auto earliest = std::min_element(schedule().begin(), schedule().end(), is_earlier);
    const auto windows = (earliest->at - request_.base) / request_.limit.window;
    if (windows == 0) return;
    take_first_of({shifted(schedule(), -windows * request_.limit.window)});
  }

  const Schedule& schedule() const { return finding_.schedule(); }

  /// See Shrinking::take_first_of(). Leaves out candidates that begin too early, or end too late.
  bool take_first_of(std::vector<Schedule> candidates) {
    std::erase_if(candidates, [this](const Schedule& candidate) { return !is_within(candidate); });
    return finding_.take_first_of(std::move(candidates));
  }

  bool is_within(const Schedule& candidate) const {
    if (!may_step_back_ && steps_back(candidate)) return false;
    return std::ranges::all_of(candidate, [&](const Request& request) {
      const auto offset = request.at - request_.base;
      return offset >= 0us && request.at <= limiter::kLatestNow;
    });
  }

  void drop_denied() {
    Schedule allowed;
    for (std::size_t i = 0; i < schedule().size(); ++i) {
      if (finding_.answers()[i].allowed) allowed.push_back(schedule()[i]);
    }
    if (allowed.size() < schedule().size()) take_first_of({allowed});
  }

  /// Drops all of these requests of an instant, or as many as possible.
  bool drop_from(std::size_t first, std::size_t most) {
    std::vector<Schedule> candidates;
    for (auto count = most; count > 0; count /= 2) {
      auto& without = candidates.emplace_back(schedule());
      const auto begin = std::next(without.begin(), static_cast<std::ptrdiff_t>(first));
      without.erase(begin, std::next(begin, static_cast<std::ptrdiff_t>(count)));
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
        for (const auto last : {schedule().size(), end}) {
          auto moved = schedule();
          for (auto i = instant.first; i < last; ++i) moved[i].at += by;
          candidates.push_back(std::move(moved));
          if (end == schedule().size()) break;  // both are the same
        }
      }
    }
    return take_first_of(std::move(candidates));
  }

  const SearchRequest& request_;
  Shrinking& finding_;
  bool may_step_back_;
};

}  // namespace

// ---- Bounds and scores ----

std::int64_t most_fills(const SearchRequest& request) {
  std::int64_t most = 1;
  for (const auto cost : request.costs) {
    if (cost > 0) most = std::max(most, requests_to_fill(request.limit, cost));
  }
  return most;
}

microseconds clock_step(const SearchRequest& request) {
  constexpr int kStepsOfWindow = 10;
  const bool is_fine = kStepsOfWindow * request.clock_unit <= request.limit.window;
  return is_fine ? std::max(request.tick, request.clock_unit) : request.tick;
}

Score score_of(const Schedule& schedule, const Answers& answers, const SearchRequest& request) {
  return score_of(schedule, answers, request.limit, clock_step(request), request.tick);
}

// ---- Schedules to try ----

RequestRules::RequestRules(const SearchRequest& request, bool clock_steps_back,
                           std::span<const microseconds> ttls)
    : request_(request),
      ttls_(ttls),
      bounds_{.may_step_back = clock_steps_back,
              .most_requests = static_cast<std::size_t>(most_requests(most_fills(request))),
              .latest = kMaxWindows * request.limit.window,
              .gaps = critical_gaps(request.limit)} {
  for (const auto ttl : ttls_) {
    bounds_.latest = std::max(bounds_.latest, latest_with_ttl(ttl, request.limit));
    bounds_.gaps.push_back(ttl + kTtlMargin);
    if (ttl > kTtlMargin) bounds_.gaps.push_back(ttl - kTtlMargin);
  }
  if (request.clock_unit > kExact) bounds_.gaps.push_back(request.clock_unit - kExact);
}

/// If schedules wait for TTLs, the first one comes alone: it shows whether there is a limit at all.
std::vector<Schedule> RequestRules::next_known() {
  const bool waits = !ttls_.empty() && !bounds_.may_step_back;
  const auto call = ++known_given_;
  if (call > (waits ? 2 : 1)) return {};
  auto known = known_schedules();
  if (waits && call == 1) known.resize(1);
  if (waits && call == 2) {
    known.erase(known.begin());
    if (!has_no_bound()) add_waiting(known);
  }
  for (auto& schedule : known) schedule = shifted(std::move(schedule), request_.base);
  return known;
}

std::vector<Schedule> RequestRules::known_schedules() const {
  std::vector<Schedule> all;
  for (const auto cost : request_.costs) {
    const auto most = static_cast<std::int64_t>(bounds_.most_requests);
    auto some = cost <= 0 ? refunding_schedules(request_.limit, request_.costs[0], cost)
                : bounds_.may_step_back ? backward_schedules(request_.limit, cost)
                                        : forward_schedules(request_.limit, cost, most);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  if (request_.tick > kExact && !bounds_.may_step_back) {
    // As close as the limiter's clock cannot tell from a window.
    const auto cost = request_.costs[0];
    const auto fills = static_cast<std::size_t>(requests_to_fill(request_.limit, cost));
    auto& pair = all.emplace_back(fills, Request{request_.tick - kExact, cost});
    pair.insert(pair.end(), fills, {request_.limit.window, cost});
  }
  return all;
}

/// Puts first the schedules that wait for TTLs.
void RequestRules::add_waiting(std::vector<Schedule>& known) const {
  const auto lag = std::max(request_.clock_unit, request_.tick);
  for (const auto cost : request_.costs) {
    if (cost <= 0) continue;
    for (const auto ttl : ttls_) {
      const auto waiting = ttl_schedules(request_.limit, cost, most_with_ttl(cost), ttl, lag);
      known.insert(known.begin(), waiting.begin(), waiting.end());
    }
  }
}

/// The most requests of a schedule that waits for TTLs: they may end often within a window.
std::int64_t RequestRules::most_with_ttl(std::int64_t cost) const {
  constexpr std::int64_t kMostFills = 64, kShareOfTries = 40;
  const auto fills = requests_to_fill(request_.limit, cost);
  return std::max(static_cast<std::int64_t>(bounds_.most_requests),
                  std::min(kMostFills * fills, request_.tries / kShareOfTries));
}

Schedule RequestRules::new_schedule(traffic::Random& random) const {
  return shifted(Mutation(request_, bounds_, random).child(best_), request_.base);
}

/// Whether one window allowed as many requests as a schedule may have.
bool RequestRules::has_no_bound() const {
  // A script that starts over whenever a key expires is bounded all the same.
  const bool is_at_once =
      !best_.empty() && (ttls_.empty() || best_[0].score.worst_span < ttls_.front() / 2);
  const auto takes = [](const Request& request) { return request.cost > 0; };
  return is_at_once &&
         std::ranges::count_if(best_[0].schedule, takes) >=
             static_cast<std::ptrdiff_t>(bounds_.most_requests) &&
         best_[0].score.worst >= units_of(best_[0].schedule);
}

/// If everything is allowed, there is nothing more to find, except by the first few schedules.
bool RequestRules::is_done() const {
  return judged_ > 1 && has_no_bound();
}

// ---- Every schedule ----

/// The times are the one of the request before and 1 µs later; a quarter, half and three quarters
/// of a window after it; 1 µs before, at, and 1 µs after the next edge of the clock's windows, and
/// one window after each earlier request. The first request comes at these times in the window that
/// begins at the base.
std::vector<Request> RequestRules::requests_after(const Schedule& schedule,
                                                  const Answers& /*answers*/) const {
  const auto window = request_.limit.window;
  constexpr microseconds kStep{1};
  const bool is_first = schedule.empty();
  const auto last = is_first ? request_.base : schedule.back().at;
  std::vector<microseconds> times;
  const auto add = [&](microseconds at) {
    if (at < last || (is_first && at >= request_.base + window)) return;
    times.push_back(at);
  };
  const auto add_around = [&](microseconds at) {
    for (const auto by : {-kStep, microseconds{0}, kStep}) add(at + by);
  };
  for (const auto after : {microseconds{0}, kStep, window / 4, window / 2, 3 * window / 4}) {
    add(last + after);
  }
  add_around(last - (last - request_.base) % window + window);
  for (const auto& earlier : schedule) add_around(earlier.at + window);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<Request> requests;
  for (const auto at : times) {
    for (const auto cost : request_.costs) requests.push_back({.at = at, .cost = cost});
  }
  return requests;
}

void RequestRules::begin_after(const Schedule& schedule, const Answers& answers) {
  before_ = &schedule;
  log_ = ExactLog(request_.limit.window);
  has_delay_ = false;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (answers[i].allowed) log_.add(schedule[i].at, schedule[i].cost);
    has_delay_ = has_delay_ || answers[i].delay > 0us;
  }
}

/// Most schedules are not worse than those before. The score is computed only if it may be.
bool RequestRules::is_worth_judging(const Request& request, const Answer& answer) const {
  if (request.cost <= 0) return false;
  if (has_delay_ || answer.delay > 0us || best_.empty()) return true;
  const auto& limit = request_.limit;
  const auto comes_first = [&](const Finding& known) {
    if (before_->size() >= known.schedule.size()) return false;
    auto schedule = *before_;
    schedule.push_back(request);
    return comes_before(schedule, known.schedule);
  };
  const auto in_window = log_.counted(request.at) + request.cost;
  if (!answer.allowed) {
    const auto& known = result_.wrongly_denied;
    return in_window <= limit.limit &&
           (!known || known->score.only_at_edge() || comes_first(*known));
  }
  const auto& most = best_.front();
  if (in_window < most.score.worst) return false;
  const auto from = log_.oldest(request.at);
  const Score score{.worst = in_window, .worst_from = from, .worst_span = request.at - from};
  return in_window > most.score.worst ||
         margin_digits(score, limit.window) > margin_digits(most.score, limit.window) ||
         comes_first(most);
}

// ---- Findings ----

void RequestRules::judge(Schedule schedule, Answers answers) {
  ++judged_;
  Finding candidate{.schedule = std::move(schedule), .answers = std::move(answers)};
  candidate.score = score_of(candidate.schedule, candidate.answers, request_);
  keep_early_denial(candidate);
  const auto& denied = result_.wrongly_denied;
  result_.keep_denial(candidate, denied && is_smaller(candidate.schedule, denied->schedule));
  if (!bounds_.may_step_back) keep_rounding(candidate);
  result_.has_stepped_back = result_.has_stepped_back || steps_back(candidate.schedule);
  const auto same = [&](const Finding& other) { return other.schedule == candidate.schedule; };
  if (std::ranges::any_of(best_, same)) return;
  const auto is_better = [&](const Finding& one, const Finding& other) {
    const auto window = request_.limit.window;
    if (is_weaker(other, one, window)) return true;
    return request_.exhaustive && !is_weaker(one, other, window) &&
           comes_before(one.schedule, other.schedule);
  };
  best_.insert(std::ranges::upper_bound(best_, candidate, is_better), std::move(candidate));
  if (best_.size() > kBest) best_.pop_back();
}

/// The result of an exhaustive search does not depend on the order in which schedules are tried.
bool RequestRules::is_smaller(const Schedule& one, const Schedule& other) const {
  return request_.exhaustive ? comes_before(one, other) : one.size() < other.size();
}

/// Keeps a finding that shows more by the exact times than was known.
void RequestRules::keep_rounding(const Finding& candidate) {
  if (request_.tick <= kExact) return;
  auto exact = candidate;
  exact.score = score_of(exact.schedule, exact.answers, request_.limit);
  if (exact.score.worst <= request_.limit.limit) return;
  auto& known = result_.by_rounding;
  if (!known || is_weaker(*known, exact, request_.limit.window)) known = std::move(exact);
}

/// Sets SearchResult::denied_after, if the answers show it.
void RequestRules::keep_early_denial(const Finding& candidate) {
  const auto& [schedule, answers, score] = candidate;
  const auto at_once = std::min(request_.limit.limit, request_.limit.burst_or_limit());
  std::int64_t units = 0;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto cost = schedule[i].cost;
    if (schedule[i].at != schedule.front().at || cost <= 0 || units + cost > at_once) return;
    if (!answers[i].allowed) {
      result_.denied_after = std::min(result_.denied_after.value_or(units), units);
      return;
    }
    units += cost;
  }
}

void RequestRules::simplify(Shrinking& finding) const {
  Simplification(request_, finding).run();
}

SearchResult RequestRules::take_result() {
  result_.is_unbounded = !request_.exhaustive && has_no_bound();
  if (!best_.empty()) result_.most = std::move(best_.front());
  return std::move(result_);
}

}  // namespace rlctl::adversary
