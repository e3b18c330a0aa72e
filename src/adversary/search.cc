#include "adversary/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

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
constexpr std::int64_t kLeastFills = 40;
/// The latest time of a request, in windows.
constexpr std::int64_t kMostWindows = 8;

/// Fewer units are worse; with equal units, more requests are worse.
bool is_worse_than(const Finding& one, const Finding& other) {
  if (one.score.worst != other.score.worst) return one.score.worst < other.score.worst;
  return one.schedule.size() > other.schedule.size();
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
        fills_(std::max<std::int64_t>(1, request.limit.limit / request.cost)),
        most_requests_(static_cast<std::size_t>(4 * fills_ + 8)),
        gaps_(telling_gaps(request.limit)),
        random_(random) {}

  /// Runs until it has sent `budget` requests, or the interrupt is raised.
  void run(std::int64_t budget, const std::function<void()>& on_progress) {
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

  [[nodiscard]] const Finding* best() const { return elite_.empty() ? nullptr : &elite_[0]; }
  [[nodiscard]] const std::optional<Finding>& wrong() const { return wrong_; }
  [[nodiscard]] std::int64_t asked() const { return asked_; }
  /// Whether one window allowed as many requests as a schedule may have.
  [[nodiscard]] bool has_no_bound() const {
    return !elite_.empty() &&
           elite_[0].score.worst >= static_cast<std::int64_t>(most_requests_) * request_.cost;
  }

 private:
  [[nodiscard]] bool is_over(std::int64_t budget) const {
    // If everything is allowed, there is nothing more to find.
    return interrupt_.signal() != 0 || asked_ >= budget || has_no_bound();
  }

  void ask(std::vector<Schedule> schedules) {
    for (auto& schedule : schedules) {
      for (auto& at : schedule) at += request_.base - at % request_.tick;
      asked_ += static_cast<std::int64_t>(schedule.size());
    }
    const auto answers = trial_.ask(schedules);
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (!answers[i].empty()) keep(std::move(schedules[i]), answers[i]);
    }
  }

  void keep(Schedule schedule, const Answers& answers) {
    Finding candidate{.answers = answers,
                      .score = score_of(schedule, answers, request_.limit, request_.cost)};
    for (auto& at : schedule) at -= request_.base;
    candidate.schedule = std::move(schedule);
    const bool is_fewer = !wrong_ || candidate.schedule.size() < wrong_->schedule.size();
    if (!candidate.score.wrongly_denied.empty() && is_fewer) wrong_ = candidate;
    const auto same = [&](const Finding& other) { return other.schedule == candidate.schedule; };
    if (std::any_of(elite_.begin(), elite_.end(), same)) return;
    const auto place = std::upper_bound(
        elite_.begin(), elite_.end(), candidate,
        [](const Finding& one, const Finding& other) { return is_worse_than(other, one); });
    elite_.insert(place, std::move(candidate));
    if (elite_.size() > kElite) elite_.pop_back();
  }

  [[nodiscard]] Schedule child() {
    constexpr double kFresh = 0.1;
    constexpr std::size_t kMostChanges = 3;
    if (elite_.empty() || random_.uniform() < kFresh) return fresh();
    auto schedule = elite_[pick(elite_.size())].schedule;
    for (auto changes = 1 + pick(kMostChanges); changes > 0; --changes) change(schedule);
    mend(schedule);
    return schedule;
  }

  /// A few bursts with gaps between them.
  [[nodiscard]] Schedule fresh() {
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

  void change(Schedule& schedule) {
    const auto instants = instants_of(schedule);
    if (instants.empty()) return insert(schedule);
    const auto& instant = instants[pick(instants.size())];
    const auto begin = std::next(schedule.begin(), static_cast<std::ptrdiff_t>(instant.first));
    switch (pick(4)) {
      case 0:
        return insert(schedule);
      case 1:
        schedule.erase(begin,
                       std::next(begin, static_cast<std::ptrdiff_t>(1 + pick(instant.count))));
        return;
      case 2:
        schedule.insert(begin, pick_count(), instant.at);
        return;
      default:
        return move_instant(schedule, instant);
    }
  }

  /// Moves an instant by a gap, or a gap away from another request; sometimes only a part of it.
  void move_instant(Schedule& schedule, const Instant& instant) {
    const auto sign = pick(2) == 0 ? 1 : -1;
    const auto from = pick(2) == 0 ? instant.at : schedule[pick(schedule.size())];
    const auto to = from + sign * pick_gap();
    const auto first = instant.first + (pick(4) == 0 ? pick(instant.count) : 0);
    for (auto i = first; i < instant.first + instant.count; ++i) schedule[i] = to;
  }

  void insert(Schedule& schedule) {
    if (schedule.empty()) {
      schedule = fresh();
      return;
    }
    const auto after = pick(schedule.size());
    const auto sign = pick(3) == 0 ? -1 : 1;
    const auto at = schedule[after] + sign * pick_gap();
    schedule.insert(std::next(schedule.begin(), static_cast<std::ptrdiff_t>(after) + 1),
                    pick_count(), at);
  }

  /// Brings a schedule back within its bounds.
  void mend(Schedule& schedule) const {
    if (schedule.size() > most_requests_) schedule.resize(most_requests_);
    if (schedule.empty()) schedule.emplace_back(0);
    const auto latest = kMostWindows * request_.limit.window;
    for (auto& at : schedule) at = std::clamp(at, microseconds{0}, latest);
    if (!clock_steps_back_) std::sort(schedule.begin(), schedule.end());
  }

  [[nodiscard]] std::size_t pick(std::size_t count) {
    return static_cast<std::size_t>(random_.uniform() * static_cast<double>(count));
  }
  [[nodiscard]] microseconds pick_gap() { return gaps_[pick(gaps_.size())]; }

  [[nodiscard]] std::size_t pick_count() {
    const auto fills = static_cast<std::size_t>(fills_);
    const std::array counts{std::size_t{1}, fills, fills + 1, 2 * fills,
                            std::max(fills / 2, std::size_t{1})};
    return counts[pick(counts.size())];
  }

  Trial& trial_;
  const SearchRequest& request_;
  const Interrupt& interrupt_;
  bool clock_steps_back_;
  std::int64_t fills_;
  std::size_t most_requests_;
  std::vector<microseconds> gaps_;
  traffic::Random& random_;
  std::vector<Finding> elite_;  ///< best first
  std::optional<Finding> wrong_;
  std::int64_t asked_ = 0;
};

// --- Shrinking -----------------------------------------------------------------------------------

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

/// Makes a finding smaller: drops requests that it does not need, joins instants, and moves each to
/// the roundest time that still shows the finding.
class Shrinking {
 public:
  using StillShows = std::function<bool(const Schedule&, const Answers&)>;

  /// Sends at most `budget` requests. `clock_steps_back`: times may go back.
  Shrinking(Trial& trial, const Finding& found, StillShows still_shows, bool clock_steps_back,
            std::int64_t budget)
      : trial_(trial),
        still_shows_(std::move(still_shows)),
        clock_steps_back_(clock_steps_back),
        budget_(budget),
        schedule_(found.schedule),
        answers_(found.answers) {}

  /// A window begins at `base`; no request is earlier. The result has no score.
  [[nodiscard]] Finding run(microseconds base, microseconds window) {
    drop_requests();
    join_instants();
    begin_early(base, window);
    round_times(window);
    begin_early(base, window);
    drop_requests();
    return {.schedule = std::move(schedule_), .answers = std::move(answers_)};
  }

  [[nodiscard]] std::int64_t asked() const { return asked_; }

 private:
  void drop_requests() {
    drop_denied();
    // From the end, so that earlier instants keep their indexes.
    for (bool dropped = true; dropped;) {
      dropped = false;
      const auto instants = instants_of(schedule_);
      for (auto i = instants.size(); i-- > 0;) {
        auto instant = instants[i];
        for (auto before = schedule_.size(); instant.count > 0 && drop_from(instant);) {
          dropped = true;
          instant.count -= before - schedule_.size();
          before = schedule_.size();
        }
      }
    }
  }

  /// Moves each instant to the one before it, if that still shows the finding.
  void join_instants() {
    for (std::size_t i = 1; i < instants_of(schedule_).size();) {
      const auto instants = instants_of(schedule_);
      auto joined = schedule_;
      const auto begin = std::next(joined.begin(), static_cast<std::ptrdiff_t>(instants[i].first));
      std::fill_n(begin, instants[i].count, instants[i - 1].at);
      if (!take_first_of({joined})) ++i;
    }
  }

  void round_times(microseconds window) {
    const auto steps = round_steps(window);
    constexpr int kRounds = 3;
    bool rounded = true;
    for (int i = 0; i < kRounds && rounded; ++i) {
      rounded = false;
      for (const auto& instant : instants_of(schedule_)) {
        // An earlier move may have joined or shifted this instant; the next round tries it again.
        if (instant.first >= schedule_.size()) break;
        if (schedule_[instant.first] != instant.at) continue;
        rounded |= round(instant, steps);
      }
    }
  }

  /// Moves the schedule to the window at `base`, if that still shows the finding.
  void begin_early(microseconds base, microseconds window) {
    const auto earliest = *std::min_element(schedule_.begin(), schedule_.end());
    const auto windows = (earliest - base) / window;
    if (windows == 0) return;
    auto moved = schedule_;
    for (auto& at : moved) at -= windows * window;
    static_cast<void>(take_first_of({moved}));
  }

  /// Takes the first candidate that still shows the finding; the best come first. False if none
  /// does, or if the budget is used up.
  bool take_first_of(const std::vector<Schedule>& candidates) {
    std::int64_t requests = 0;
    for (const auto& candidate : candidates)
      requests += static_cast<std::int64_t>(candidate.size());
    if (candidates.empty() || asked_ + requests > budget_) return false;
    asked_ += requests;
    auto answers = trial_.ask(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!clock_steps_back_ && steps_back(candidates[i])) continue;
      if (answers[i].empty() || !still_shows_(candidates[i], answers[i])) continue;
      schedule_ = candidates[i];
      answers_ = std::move(answers[i]);
      return true;
    }
    return false;
  }

  bool drop_denied() {
    Schedule allowed;
    for (std::size_t i = 0; i < schedule_.size(); ++i) {
      if (answers_[i].allowed) allowed.push_back(schedule_[i]);
    }
    const bool is_smaller = !allowed.empty() && allowed.size() < schedule_.size();
    return is_smaller && take_first_of({allowed});
  }

  /// Drops all of an instant's requests, or as many as possible.
  bool drop_from(const Instant& instant) {
    std::vector<Schedule> candidates;
    for (auto count = instant.count; count > 0; count /= 2) {
      auto without = schedule_;
      const auto first = std::next(without.begin(), static_cast<std::ptrdiff_t>(instant.first));
      without.erase(first, std::next(first, static_cast<std::ptrdiff_t>(count)));
      if (!without.empty()) candidates.push_back(std::move(without));
    }
    return take_first_of(candidates);
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
        for (const auto last : {schedule_.size(), end}) {
          auto moved = schedule_;
          for (auto i = instant.first; i < last; ++i) moved[i] += by;
          candidates.push_back(std::move(moved));
          if (end == schedule_.size()) break;  // both are the same
        }
      }
    }
    return take_first_of(candidates);
  }

  Trial& trial_;
  StillShows still_shows_;
  bool clock_steps_back_;
  std::int64_t budget_, asked_ = 0;
  Schedule schedule_;
  Answers answers_;
};

// --- The search ----------------------------------------------------------------------------------

/// A complete search.
class Search {
 public:
  Search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
         const OnSearchProgress& on_progress)
      : trial_(trial),
        request_(request),
        interrupt_(interrupt),
        on_progress_(on_progress),
        random_(request.seed) {}

  [[nodiscard]] SearchResult run() {
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
      result_.wrongly_denied = shrunk(*forward.wrong(), false, [](const Score& score) {
        return !score.wrongly_denied.empty();
      });
    }
    result_.is_unbounded = forward.has_no_bound();
    result_.interrupted = interrupt_.signal() != 0;
    return std::move(result_);
  }

 private:
  void hunt(Hunt& hunt, std::int64_t budget) {
    const auto before = result_.asked;
    hunt.run(budget, [&] {
      if (!on_progress_) return;
      on_progress_(before + hunt.asked(), request_.budget,
                   hunt.best() != nullptr ? hunt.best()->score.worst : 0);
    });
    result_.asked += hunt.asked();
  }

  [[nodiscard]] Finding shrunk(const Finding& found, bool clock_steps_back,
                               const std::function<bool(const Score&)>& shows) {
    auto absolute = found;
    for (auto& at : absolute.schedule) at += request_.base;
    const auto score = [&](const Schedule& tried, const Answers& answers) {
      return score_of(tried, answers, request_.limit, request_.cost);
    };
    const auto still_shows = [&](const Schedule& tried, const Answers& answers) {
      const auto may_come = [&](microseconds at) {
        return at >= request_.base && (at - request_.base) % request_.tick == microseconds{0};
      };
      return std::all_of(tried.begin(), tried.end(), may_come) && shows(score(tried, answers));
    };
    Shrinking shrinking(trial_, absolute, still_shows, clock_steps_back,
                        interrupt_.signal() != 0 ? 0 : request_.budget);
    auto small = shrinking.run(request_.base, request_.limit.window);
    small.score = score(small.schedule, small.answers);
    result_.asked += shrinking.asked();
    return small;
  }

  Trial& trial_;
  const SearchRequest& request_;
  const Interrupt& interrupt_;
  const OnSearchProgress& on_progress_;
  traffic::Random random_;
  SearchResult result_;
};

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
