#include "adversary/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "adversary/known_schedules.h"
#include "adversary/shrink.h"
#include "traffic/random.h"

namespace rlctl::adversary {
namespace {

/// Schedules that are asked at a time: one round trip for each of their instants.
constexpr std::size_t kAtOnce = 64;
/// The best of what was found, from which the search goes on.
constexpr std::size_t kElite = 12;
/// How much of the budget goes to clocks that step back.
constexpr double kBackwardShare = 0.3;
/// So often must a budget fill the limit, so that at least the most telling schedules are asked.
constexpr std::int64_t kLeastFills = 40;
/// No time is later than so many windows.
constexpr std::int64_t kMostWindows = 8;

struct Candidate {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

/// More units, and of equals fewer requests.
bool is_worse_than(const Candidate& one, const Candidate& other) {
  if (one.score.worst != other.score.worst) return one.score.worst < other.score.worst;
  return one.schedule.size() > other.schedule.size();
}

/// The search in one direction of time: never back, or back as well.
class Hunt {
 public:
  Hunt(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
       bool clock_steps_back, traffic::Random& random)
      : trial_(trial),
        request_(request),
        interrupt_(interrupt),
        clock_steps_back_(clock_steps_back),
        fills_(std::max<std::int64_t>(1, request.limit.limit / request.cost)),
        most_requests_(static_cast<std::size_t>(4 * fills_ + 8)),
        gaps_(telling_gaps(request.limit)),
        random_(random) {}

  /// Until so many requests have been asked, or the interrupt is raised.
  void run(std::int64_t budget, const std::function<void()>& on_progress);

  [[nodiscard]] const Candidate* best() const { return elite_.empty() ? nullptr : &elite_[0]; }
  [[nodiscard]] const std::optional<Candidate>& wrong() const { return wrong_; }
  [[nodiscard]] std::int64_t asked() const { return asked_; }
  /// As many were allowed within one window as a schedule may have.
  [[nodiscard]] bool has_no_bound() const {
    return !elite_.empty() &&
           elite_[0].score.worst >= static_cast<std::int64_t>(most_requests_) * request_.cost;
  }

 private:
  [[nodiscard]] bool is_over(std::int64_t budget) const;
  void ask(std::vector<Schedule> schedules);
  void keep(Schedule schedule, const Answers& answers);
  [[nodiscard]] Schedule child();
  [[nodiscard]] Schedule fresh();
  void change(Schedule& schedule);
  void move_instant(Schedule& schedule, const Instant& instant);
  void insert(Schedule& schedule);
  void mend(Schedule& schedule) const;

  [[nodiscard]] std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(random_.uniform() * static_cast<double>(count));
  }
  [[nodiscard]] microseconds pick_gap() { return gaps_[pick(gaps_.size())]; }
  [[nodiscard]] std::size_t pick_count();

  Trial& trial_;
  const SearchRequest& request_;
  const Interrupt& interrupt_;
  bool clock_steps_back_;
  std::int64_t fills_;
  std::size_t most_requests_;
  std::vector<microseconds> gaps_;
  traffic::Random& random_;
  std::vector<Candidate> elite_;  ///< the best first
  std::optional<Candidate> wrong_;
  std::int64_t asked_ = 0;
};

bool Hunt::is_over(std::int64_t budget) const {
  // Where everything is allowed there is no more to find.
  return interrupt_.signal() != 0 || asked_ >= budget || has_no_bound();
}

void Hunt::run(std::int64_t budget, const std::function<void()>& on_progress) {
  auto probes = clock_steps_back_ ? backward_schedules(request_.limit, fills_)
                                  : forward_schedules(request_.limit, fills_,
                                                      static_cast<std::int64_t>(most_requests_));
  for (std::size_t next = 0; next < probes.size() && !is_over(budget);) {
    std::vector<Schedule> some;
    while (next < probes.size() && some.size() < kAtOnce) some.push_back(probes[next++]);
    ask(std::move(some));
    on_progress();
  }
  while (!is_over(budget)) {
    std::vector<Schedule> some;
    while (some.size() < kAtOnce) some.push_back(child());
    ask(std::move(some));
    on_progress();
  }
}

void Hunt::ask(std::vector<Schedule> schedules) {
  for (auto& schedule : schedules) {
    for (auto& at : schedule) at += request_.base - at % request_.tick;
    asked_ += static_cast<std::int64_t>(schedule.size());
  }
  const auto answers = trial_.ask(schedules);
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!answers[i].empty()) keep(std::move(schedules[i]), answers[i]);
  }
}

void Hunt::keep(Schedule schedule, const Answers& answers) {
  Candidate candidate{.answers = answers,
                      .score = score_of(schedule, answers, request_.limit, request_.cost)};
  for (auto& at : schedule) at -= request_.base;
  candidate.schedule = std::move(schedule);
  const bool is_fewer = !wrong_ || candidate.schedule.size() < wrong_->schedule.size();
  if (!candidate.score.wrongly_denied.empty() && is_fewer) wrong_ = candidate;
  const auto same = [&](const Candidate& other) { return other.schedule == candidate.schedule; };
  if (std::any_of(elite_.begin(), elite_.end(), same)) return;
  const auto place = std::upper_bound(
      elite_.begin(), elite_.end(), candidate,
      [](const Candidate& one, const Candidate& other) { return is_worse_than(other, one); });
  elite_.insert(place, std::move(candidate));
  if (elite_.size() > kElite) elite_.pop_back();
}

Schedule Hunt::child() {
  constexpr double kFresh = 0.1;
  constexpr std::size_t kMostChanges = 3;
  if (elite_.empty() || random_.uniform() < kFresh) return fresh();
  auto schedule = elite_[pick(elite_.size())].schedule;
  for (auto changes = 1 + pick(kMostChanges); changes > 0; --changes) change(schedule);
  mend(schedule);
  return schedule;
}

/// Some bursts, gaps apart.
Schedule Hunt::fresh() {
  constexpr std::size_t kMostBursts = 4;
  Schedule schedule;
  microseconds at = pick_gap();
  for (auto bursts = 1 + pick(kMostBursts); bursts > 0; --bursts) {
    schedule.insert(schedule.end(), pick_count(), at);
    at += pick_gap();
  }
  mend(schedule);
  return schedule;
}

std::size_t Hunt::pick_count() {
  const auto fills = static_cast<std::size_t>(fills_);
  const std::array counts{std::size_t{1}, fills, fills + 1, 2 * fills,
                          std::max(fills / 2, std::size_t{1})};
  return counts[pick(counts.size())];
}

void Hunt::change(Schedule& schedule) {
  const auto instants = instants_of(schedule);
  if (instants.empty()) return insert(schedule);
  const auto& instant = instants[pick(instants.size())];
  const auto begin = std::next(schedule.begin(), static_cast<std::ptrdiff_t>(instant.first));
  switch (pick(4)) {
    case 0:
      return insert(schedule);
    case 1:
      schedule.erase(begin, std::next(begin, static_cast<std::ptrdiff_t>(1 + pick(instant.count))));
      return;
    case 2:
      schedule.insert(begin, pick_count(), instant.at);
      return;
    default:
      return move_instant(schedule, instant);
  }
}

/// By a gap, or to where it is one from another request; now and then only a part of it.
void Hunt::move_instant(Schedule& schedule, const Instant& instant) {
  const auto sign = pick(2) == 0 ? 1 : -1;
  const auto from = pick(2) == 0 ? instant.at : schedule[pick(schedule.size())];
  const auto to = from + sign * pick_gap();
  const auto first = instant.first + (pick(4) == 0 ? pick(instant.count) : 0);
  for (auto i = first; i < instant.first + instant.count; ++i) schedule[i] = to;
}

void Hunt::insert(Schedule& schedule) {
  if (schedule.empty()) {
    schedule = fresh();
    return;
  }
  const auto after = pick(schedule.size());
  const auto sign = pick(3) == 0 ? -1 : 1;
  const auto at = schedule[after] + sign * pick_gap();
  schedule.insert(std::next(schedule.begin(), static_cast<std::ptrdiff_t>(after) + 1), pick_count(),
                  at);
}

/// Back into what may be asked.
void Hunt::mend(Schedule& schedule) const {
  if (schedule.size() > most_requests_) schedule.resize(most_requests_);
  if (schedule.empty()) schedule.emplace_back(0);
  const auto latest = kMostWindows * request_.limit.window;
  for (auto& at : schedule) at = std::clamp(at, microseconds{0}, latest);
  if (!clock_steps_back_) std::sort(schedule.begin(), schedule.end());
}

/// A search as a whole.
class Search {
 public:
  Search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
         const OnSearchProgress& on_progress)
      : trial_(trial),
        request_(request),
        interrupt_(interrupt),
        on_progress_(on_progress),
        random_(request.seed) {}

  [[nodiscard]] SearchResult run();

 private:
  void hunt(Hunt& hunt, std::int64_t budget);
  [[nodiscard]] Finding shrunk(const Candidate& found, bool clock_steps_back,
                               const std::function<bool(const Score&)>& shows);

  Trial& trial_;
  const SearchRequest& request_;
  const Interrupt& interrupt_;
  const OnSearchProgress& on_progress_;
  traffic::Random random_;
  SearchResult result_;
};

void Search::hunt(Hunt& hunt, std::int64_t budget) {
  const auto before = result_.asked;
  hunt.run(budget, [&] {
    if (!on_progress_) return;
    on_progress_(before + hunt.asked(), request_.budget,
                 hunt.best() != nullptr ? hunt.best()->score.worst : 0);
  });
  result_.asked += hunt.asked();
}

Finding Search::shrunk(const Candidate& found, bool clock_steps_back,
                       const std::function<bool(const Score&)>& shows) {
  auto absolute = found.schedule;
  for (auto& at : absolute) at += request_.base;
  const auto score = [&](const Schedule& tried, const Answers& answers) {
    return score_of(tried, answers, request_.limit, request_.cost);
  };
  const auto still_shows = [&](const Schedule& tried, const Answers& answers) {
    const auto may_come = [&](microseconds at) {
      return at >= request_.base && (at - request_.base) % request_.tick == microseconds{0};
    };
    return std::all_of(tried.begin(), tried.end(), may_come) && shows(score(tried, answers));
  };
  auto small = shrink(trial_, {.schedule = std::move(absolute), .answers = found.answers},
                      still_shows, request_.base, request_.limit.window, clock_steps_back,
                      interrupt_.signal() != 0 ? 0 : request_.budget);
  result_.asked += small.asked;
  Finding finding{.schedule = std::move(small.schedule), .answers = std::move(small.answers)};
  finding.score = score(finding.schedule, finding.answers);
  return finding;
}

SearchResult Search::run() {
  const auto backward_budget =
      static_cast<std::int64_t>(kBackwardShare * static_cast<double>(request_.budget));
  Hunt forward(trial_, request_, interrupt_, false, random_);
  hunt(forward, request_.budget - backward_budget);
  Hunt backward(trial_, request_, interrupt_, true, random_);
  hunt(backward, backward_budget);

  const auto worst = forward.best() != nullptr ? forward.best()->score.worst : 0;
  if (forward.best() != nullptr) {
    result_.most =
        shrunk(*forward.best(), false, [&](const Score& score) { return score.worst >= worst; });
  }
  if (backward.best() != nullptr && backward.best()->score.worst > worst) {
    const auto more = backward.best()->score.worst;
    result_.most_stepping_back =
        shrunk(*backward.best(), true, [&](const Score& score) { return score.worst >= more; });
  }
  if (forward.wrong()) {
    result_.wrongly_denied = shrunk(
        *forward.wrong(), false, [](const Score& score) { return !score.wrongly_denied.empty(); });
  }
  result_.is_unbounded = forward.has_no_bound();
  result_.interrupted = interrupt_.signal() != 0;
  return std::move(result_);
}

bool is_confirmed(Trial& trial, const SearchResult& result) {
  const auto holds = [&trial](const Finding& finding) {
    return trial.confirms(finding.schedule, finding.answers);
  };
  return holds(result.most) && (!result.most_stepping_back || holds(*result.most_stepping_back)) &&
         (!result.wrongly_denied || holds(*result.wrongly_denied));
}

}  // namespace

SearchResult search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                    const OnSearchProgress& on_progress) {
  const auto fills = std::max<std::int64_t>(1, request.limit.limit / request.cost);
  if (request.budget / kLeastFills < fills) {
    throw UsageError(fmt::format(
        "a budget of {} requests is too small for a limit that {} requests fill: give at least "
        "{}, or a smaller limit, which has the same flaws",
        request.budget, fills, kLeastFills * fills));
  }
  auto result = Search(trial, request, interrupt, on_progress).run();
  if (result.interrupted || is_confirmed(trial, result)) return result;
  const auto in_vain = result.asked;
  result = Search(trial, request, interrupt, on_progress).run();
  result.asked += in_vain;
  return result;
}

}  // namespace rlctl::adversary
