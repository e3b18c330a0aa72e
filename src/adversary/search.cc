#include "adversary/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "adversary/shrinking.h"
#include "traffic/random.h"

namespace rlctl::adversary {
namespace {

/// How many schedules run together, to share round trips.
constexpr std::size_t kAtOnce = 64;
/// How many of the best schedules the search keeps, to derive new ones from them.
constexpr std::size_t kElite = 12;
/// The share of the budget for clocks that step back.
constexpr double kBackwardShare = 0.3;
/// A budget must fill the limit this many times, so that at least the most telling schedules are
/// tried.
constexpr std::int64_t kMinFills = 40;
/// The latest time of a request, in windows, unless the known schedules take longer. Those with a
/// clock that steps back, or with refunds, do not.
constexpr std::int64_t kMaxWindows = 8;

/// The requests that it takes to fill the limit with the smallest cost.
std::int64_t most_fills(const SearchRequest& request) {
  std::int64_t most = 1;
  for (const auto cost : request.costs) {
    if (cost > 0) most = std::max(most, fills_of(request.limit, cost));
  }
  return most;
}

/// The most requests of a schedule.
std::int64_t most_requests(std::int64_t fills) {
  return 4 * fills + 8;
}

/// Without refunds.
std::int64_t units_of(const Schedule& schedule) {
  std::int64_t units = 0;
  for (const auto& request : schedule) units += std::max<std::int64_t>(request.cost, 0);
  return units;
}

/// The search with a clock that never steps back, or with one that may.
class Hunt {
 public:
  Hunt(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
       bool clock_steps_back, traffic::Random& random)
      : trial_(trial),
        request_(request),
        interrupt_(interrupt),
        clock_steps_back_(clock_steps_back),
        most_requests_(static_cast<std::size_t>(most_requests(most_fills(request)))),
        gaps_(telling_gaps(request.limit)),
        random_(random) {}

  /// Called after requests, with the number sent so far and the most units allowed.
  using OnRequests = std::function<void(std::int64_t asked, std::int64_t worst)>;

  /// Runs until it has sent `budget` requests, or the interrupt is raised.
  [[nodiscard]] SearchResult run(std::int64_t budget, const OnRequests& on_requests) {
    try {
      try_all(budget, on_requests);
    } catch (const Interrupted&) {
      // What was found so far is kept.
    }
    result_.is_unbounded = has_no_bound();
    if (!elite_.empty()) result_.most = std::move(elite_.front());
    return std::move(result_);
  }

 private:
  void try_all(std::int64_t budget, const OnRequests& on_requests) {
    const auto probes = known_schedules();
    for (std::size_t next = 0; next < probes.size() && !is_over(budget);) {
      std::vector<Schedule> some;
      while (next < probes.size() && some.size() < kAtOnce) some.push_back(probes[next++]);
      ask(std::move(some), on_requests);
    }
    while (!is_over(budget)) {
      std::vector<Schedule> some;
      while (some.size() < kAtOnce) some.push_back(child());
      ask(std::move(some), on_requests);
    }
  }

  /// Whether one window allowed as many requests as a schedule may have.
  [[nodiscard]] bool has_no_bound() const {
    return !elite_.empty() && elite_[0].schedule.size() >= most_requests_ &&
           elite_[0].score.worst >= units_of(elite_[0].schedule);
  }

  [[nodiscard]] bool is_over(std::int64_t budget) const {
    // If everything is allowed, there is nothing more to find.
    return interrupt_.signal() != 0 || result_.asked >= budget || has_no_bound();
  }

  [[nodiscard]] std::vector<Schedule> known_schedules() const {
    std::vector<Schedule> all;
    for (const auto cost : request_.costs) {
      const auto most = static_cast<std::int64_t>(most_requests_);
      auto some = cost < 0            ? refunding_schedules(request_.limit, request_.costs[0], cost)
                  : clock_steps_back_ ? backward_schedules(request_.limit, cost)
                                      : forward_schedules(request_.limit, cost, most);
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  }

  void ask(std::vector<Schedule> schedules, const OnRequests& on_requests) {
    for (auto& schedule : schedules) {
      for (auto& request : schedule) request.at += request_.base - request.at % request_.tick;
      result_.asked += static_cast<std::int64_t>(schedule.size());
    }
    const auto answers = trial_.ask(schedules);
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (answers[i].empty()) {
        ++result_.undecided;
      } else {
        keep(std::move(schedules[i]), answers[i]);
      }
    }
    on_requests(result_.asked, elite_.empty() ? 0 : elite_[0].score.worst);
  }

  void keep(Schedule schedule, const Answers& answers) {
    Finding candidate{.answers = answers, .score = score_of(schedule, answers, request_)};
    candidate.schedule = std::move(schedule);
    result_.keep_beyond_rounding(candidate.score, request_);
    const auto& denied = result_.wrongly_denied;
    result_.keep_denial(candidate, denied && candidate.schedule.size() < denied->schedule.size());
    result_.has_stepped_back = result_.has_stepped_back || steps_back(candidate.schedule);
    const auto same = [&](const Finding& other) { return other.schedule == candidate.schedule; };
    if (std::any_of(elite_.begin(), elite_.end(), same)) return;
    const auto place = std::upper_bound(
        elite_.begin(), elite_.end(), candidate,
        [window = request_.limit.window](const Finding& one, const Finding& other) {
          return tells_less_than(other, one, window);
        });
    elite_.insert(place, std::move(candidate));
    if (elite_.size() > kElite) elite_.pop_back();
  }

  [[nodiscard]] Schedule child() {
    constexpr double kFresh = 0.1;
    constexpr std::size_t kMaxChanges = 3;
    if (elite_.empty() || random_.uniform() < kFresh) return fresh();
    auto schedule = shifted(elite_[pick(elite_.size())].schedule, -request_.base);
    for (auto changes = 1 + pick(kMaxChanges); changes > 0; --changes) change(schedule);
    mend(schedule);
    return schedule;
  }

  /// A few bursts with gaps between them.
  [[nodiscard]] Schedule fresh() {
    constexpr std::size_t kMaxBursts = 4;
    Schedule schedule;
    microseconds at = pick_gap();
    for (auto bursts = 1 + pick(kMaxBursts); bursts > 0; --bursts) {
      const auto cost = pick_cost();
      schedule.insert(schedule.end(), pick_count(cost), {at, cost});
      at += pick_gap();
    }
    mend(schedule);
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
  void mend(Schedule& schedule) const {
    if (schedule.size() > most_requests_) schedule.resize(most_requests_);
    if (schedule.empty()) schedule.push_back({.cost = request_.costs[0]});
    const auto latest = kMaxWindows * request_.limit.window;
    for (auto& request : schedule) request.at = std::clamp(request.at, microseconds{0}, latest);
    if (clock_steps_back_) return;
    std::stable_sort(schedule.begin(), schedule.end(), is_earlier);
  }

  [[nodiscard]] std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(random_.uniform() * static_cast<double>(count));
  }
  [[nodiscard]] microseconds pick_gap() { return gaps_[pick(gaps_.size())]; }

  /// The same without a draw if there is only one.
  [[nodiscard]] std::int64_t pick_cost() {
    return request_.costs.size() == 1 ? request_.costs[0]
                                      : request_.costs[pick(request_.costs.size())];
  }

  [[nodiscard]] std::size_t pick_count(std::int64_t cost) {
    const auto fills = static_cast<std::size_t>(fills_of(request_.limit, std::abs(cost)));
    const std::array counts{std::size_t{1}, fills, fills + 1, 2 * fills,
                            std::max(fills / 2, std::size_t{1})};
    return counts[pick(counts.size())];
  }

  Trial& trial_;
  const SearchRequest& request_;
  const Interrupt& interrupt_;
  bool clock_steps_back_;
  std::size_t most_requests_;
  std::vector<microseconds> gaps_;
  traffic::Random& random_;
  std::vector<Finding> elite_;  ///< best first
  SearchResult result_;
};

/// A complete search, whose findings are not confirmed.
SearchResult search_once(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                         const OnSearchProgress& on_progress) {
  traffic::Random random(request.seed);
  std::int64_t before = 0;
  const auto run = [&](bool clock_steps_back, std::int64_t budget) {
    return Hunt(trial, request, interrupt, clock_steps_back, random)
        .run(budget, [&](std::int64_t asked, std::int64_t worst) {
          if (on_progress) on_progress(before + asked, request.budget, worst);
        });
  };
  const auto backward_budget =
      request.steps_back
          ? static_cast<std::int64_t>(kBackwardShare * static_cast<double>(request.budget))
          : 0;
  const auto forward = run(false, request.budget - backward_budget);
  before = forward.asked;
  const auto backward = request.steps_back ? run(true, backward_budget) : SearchResult();
  return shrunk_result(trial, request, forward, backward, interrupt);
}

}  // namespace

microseconds latest_time(const SearchRequest& request) {
  // No search takes place if the budget does not fill the limit.
  const auto fills = std::min(most_fills(request), request.budget);
  return std::max(kMaxWindows * request.limit.window,
                  latest_of_forward(request.limit, fills, most_requests(fills)));
}

Score score_of(const Schedule& schedule, const Answers& answers, const SearchRequest& request) {
  return score_of(schedule, answers, request.limit, std::max(request.rounding, microseconds{1}));
}

bool tells_less_than(const Finding& one, const Finding& other, microseconds window) {
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

void SearchResult::keep_beyond_rounding(const Score& score, const SearchRequest& request) {
  const auto known = beyond_rounding ? beyond_rounding->worst : request.limit.limit;
  const bool is_rounded = request.limit.window - score.worst_span < request.rounding;
  if (score.worst > known && !is_rounded) beyond_rounding = score;
}

bool is_confirmed(Trial& trial, SearchResult& result) try {
  const auto holds = [&trial](const Finding& finding) {
    return trial.confirms(finding.schedule, finding.answers);
  };
  return holds(result.most) && (!result.most_stepping_back || holds(*result.most_stepping_back)) &&
         (!result.wrongly_denied || holds(*result.wrongly_denied));
} catch (const Interrupted&) {
  result.interrupted = true;
  return true;
}

SearchResult search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                    const OnSearchProgress& on_progress) {
  const auto fills = most_fills(request);
  if (request.budget / kMinFills < fills) {
    throw UsageError(fmt::format(
        "a budget of {} requests is too small for a limit that {} requests fill: give at least "
        "{}, or a smaller limit, which has the same flaws",
        request.budget, fills, kMinFills * fills));
  }
  auto result = search_once(trial, request, interrupt, on_progress);
  if (result.interrupted || is_confirmed(trial, result)) return result;
  const auto in_vain = result.asked;
  result = search_once(trial, request, interrupt, on_progress);
  result.asked += in_vain;
  return result;
}

}  // namespace rlctl::adversary
