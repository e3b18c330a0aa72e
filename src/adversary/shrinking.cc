#include "adversary/shrinking.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "limiter/limit.h"

namespace rlctl::adversary {
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

/// See shrink().
class Shrinking {
 public:
  Shrinking(Trial& trial, Answered found, const StillShows& still_shows, const Bounds& bounds,
            std::int64_t budget)
      : trial_(trial),
        still_shows_(still_shows),
        bounds_(bounds),
        budget_(budget),
        schedule_(std::move(found.schedule)),
        answers_(std::move(found.answers)) {}

  [[nodiscard]] Shrunk run() {
    try {
      make_smaller();
    } catch (const Interrupted&) {
      // What is smaller so far shows the finding too.
    }
    return {.found = {std::move(schedule_), std::move(answers_)}, .asked = asked_};
  }

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

  /// Moves instants to the one before them, as many at once as still show the finding.
  void join_instants() {
    for (std::size_t i = 1; i < instants_of(schedule_).size();) {
      const auto instants = instants_of(schedule_);
      const auto before = instants[i - 1].at;
      std::vector<Schedule> candidates;
      for (auto count = instants.size() - i; count > 0; count /= 2) {
        const auto& last = instants[i + count - 1];
        auto joined = schedule_;
        for (auto j = instants[i].first; j < last.first + last.count; ++j) joined[j].at = before;
        candidates.push_back(std::move(joined));
      }
      if (!take_first_of(std::move(candidates))) ++i;
    }
  }

  void round_times() {
    const auto steps = round_steps(bounds_.window);
    constexpr int kRounds = 3;
    bool rounded = true;
    for (int i = 0; i < kRounds && rounded; ++i) {
      rounded = false;
      for (const auto& instant : instants_of(schedule_)) {
        // An earlier move may have joined or shifted this instant; the next round tries it again.
        if (instant.first >= schedule_.size()) break;
        if (schedule_[instant.first].at != instant.at) continue;
        rounded |= round(instant, steps);
      }
    }
  }

  /// Moves the schedule to the window at `base`, if that still shows the finding.
  void begin_early() {
    const auto earliest = std::min_element(schedule_.begin(), schedule_.end(), is_earlier);
    const auto windows = (earliest->at - bounds_.base) / bounds_.window;
    if (windows == 0) return;
    const auto early = shifted(schedule_, -windows * bounds_.window);
    static_cast<void>(take_first_of({early}));
  }

  /// Takes the first candidate that still shows the finding; the best come first. False if none
  /// does, or if the budget is used up.
  bool take_first_of(std::vector<Schedule> candidates) {
    std::erase_if(candidates, [this](const Schedule& schedule) { return !is_within(schedule); });
    const auto requests = requests_of(candidates);
    if (asked_ + requests > budget_) return false;
    asked_ += requests;
    auto answers = trial_.ask(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (answers[i].empty() || !still_shows_(candidates[i], answers[i])) continue;
      schedule_ = std::move(candidates[i]);
      answers_ = std::move(answers[i]);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_within(const Schedule& schedule) const {
    if (!bounds_.steps_back && steps_back(schedule)) return false;
    return std::all_of(schedule.begin(), schedule.end(), [&](const Request& request) {
      const auto offset = request.at - bounds_.base;
      const bool is_possible = offset >= 0us && request.at <= limiter::kLatestNow;
      return is_possible && offset % bounds_.tick == 0us;
    });
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
        for (const auto last : {schedule_.size(), end}) {
          auto moved = schedule_;
          for (auto i = instant.first; i < last; ++i) moved[i].at += by;
          candidates.push_back(std::move(moved));
          if (end == schedule_.size()) break;  // both are the same
        }
      }
    }
    return take_first_of(std::move(candidates));
  }

  Trial& trial_;
  const StillShows& still_shows_;
  const Bounds& bounds_;
  std::int64_t budget_, asked_ = 0;
  Schedule schedule_;
  Answers answers_;
};

}  // namespace

Shrunk shrink(Trial& trial, Answered found, const StillShows& still_shows, const Bounds& bounds,
              std::int64_t budget) {
  return Shrinking(trial, std::move(found), still_shows, bounds, budget).run();
}

}  // namespace rlctl::adversary
