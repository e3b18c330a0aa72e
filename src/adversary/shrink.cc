#include "adversary/shrink.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;

/// What people call round, the roundest first. Of the window's own parts besides.
std::vector<microseconds> round_steps(microseconds window) {
  std::vector<microseconds> steps{24h, 1h, 10min, 1min, 10s, 1s};
  for (microseconds step = 100ms; step >= 10us; step /= 10) steps.push_back(step);
  steps.push_back(window);
  std::sort(steps.rbegin(), steps.rend());
  std::erase_if(steps, [window](microseconds step) { return step > window; });
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

class Shrinking {
 public:
  Shrinking(Trial& trial, Shrunk found, const StillShows& still_shows, bool clock_steps_back,
            std::int64_t budget)
      : trial_(trial),
        still_shows_(still_shows),
        clock_steps_back_(clock_steps_back),
        budget_(budget),
        shrunk_(std::move(found)) {}

  void drop_requests();
  void join_instants();
  void round_times(microseconds window);
  void begin_early(microseconds base, microseconds window);
  [[nodiscard]] Shrunk take() { return std::move(shrunk_); }

 private:
  bool take_first_of(const std::vector<Schedule>& candidates);
  bool drop_denied();
  bool drop_from(const Instant& instant);
  bool round(const Instant& instant, const std::vector<microseconds>& steps);

  Trial& trial_;
  const StillShows& still_shows_;
  bool clock_steps_back_;
  std::int64_t budget_;
  Shrunk shrunk_;
};

/// Of candidates, the best first, takes the first that still shows it. False where none does, or
/// where the budget is used up.
bool Shrinking::take_first_of(const std::vector<Schedule>& candidates) {
  std::int64_t requests = 0;
  for (const auto& candidate : candidates) requests += static_cast<std::int64_t>(candidate.size());
  if (candidates.empty() || shrunk_.asked + requests > budget_) return false;
  shrunk_.asked += requests;
  auto answers = trial_.ask(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!clock_steps_back_ && steps_back(candidates[i])) continue;
    if (answers[i].empty() || !still_shows_(candidates[i], answers[i])) continue;
    shrunk_.schedule = candidates[i];
    shrunk_.answers = std::move(answers[i]);
    return true;
  }
  return false;
}

bool Shrinking::drop_denied() {
  Schedule allowed;
  for (std::size_t i = 0; i < shrunk_.schedule.size(); ++i) {
    if (shrunk_.answers[i].allowed) allowed.push_back(shrunk_.schedule[i]);
  }
  const bool is_smaller = !allowed.empty() && allowed.size() < shrunk_.schedule.size();
  return is_smaller && take_first_of({allowed});
}

/// All of one instant's requests, or as many as may go.
bool Shrinking::drop_from(const Instant& instant) {
  std::vector<Schedule> candidates;
  for (auto count = instant.count; count > 0; count /= 2) {
    auto without = shrunk_.schedule;
    const auto first = std::next(without.begin(), static_cast<std::ptrdiff_t>(instant.first));
    without.erase(first, std::next(first, static_cast<std::ptrdiff_t>(count)));
    if (!without.empty()) candidates.push_back(std::move(without));
  }
  return take_first_of(candidates);
}

void Shrinking::drop_requests() {
  drop_denied();
  // From the end, so that the numbers of the instants before stay as they are.
  for (bool dropped = true; dropped;) {
    dropped = false;
    const auto instants = instants_of(shrunk_.schedule);
    for (auto i = instants.size(); i-- > 0;) {
      auto instant = instants[i];
      for (auto before = shrunk_.schedule.size(); instant.count > 0 && drop_from(instant);) {
        dropped = true;
        instant.count -= before - shrunk_.schedule.size();
        before = shrunk_.schedule.size();
      }
    }
  }
}

/// Each to the one before it, if that will do.
void Shrinking::join_instants() {
  for (std::size_t i = 1; i < instants_of(shrunk_.schedule).size();) {
    const auto instants = instants_of(shrunk_.schedule);
    auto joined = shrunk_.schedule;
    const auto begin = std::next(joined.begin(), static_cast<std::ptrdiff_t>(instants[i].first));
    std::fill_n(begin, instants[i].count, instants[i - 1].at);
    if (!take_first_of({joined})) ++i;
  }
}

/// To the roundest time that will do: all that comes from then on with it, so that what lies
/// between stays as it is, or this instant alone.
bool Shrinking::round(const Instant& instant, const std::vector<microseconds>& steps) {
  std::vector<Schedule> candidates;
  const auto end = instant.first + instant.count;
  for (const auto step : steps) {
    const auto past = instant.at % step;
    if (past == 0us) break;
    for (const auto by : {-past, step - past}) {
      for (const auto last : {shrunk_.schedule.size(), end}) {
        auto moved = shrunk_.schedule;
        for (auto i = instant.first; i < last; ++i) moved[i] += by;
        candidates.push_back(std::move(moved));
        if (end == shrunk_.schedule.size()) break;  // they are the same
      }
    }
  }
  return take_first_of(candidates);
}

void Shrinking::round_times(microseconds window) {
  const auto steps = round_steps(window);
  constexpr int kRounds = 3;
  bool rounded = true;
  for (int i = 0; i < kRounds && rounded; ++i) {
    rounded = false;
    for (const auto& instant : instants_of(shrunk_.schedule)) {
      // Two instants may have become one: its number is then another's, and it comes again.
      if (instant.first >= shrunk_.schedule.size()) break;
      if (shrunk_.schedule[instant.first] != instant.at) continue;
      rounded |= round(instant, steps);
    }
  }
}

/// As whole windows earlier as may be.
void Shrinking::begin_early(microseconds base, microseconds window) {
  const auto earliest = *std::min_element(shrunk_.schedule.begin(), shrunk_.schedule.end());
  const auto windows = (earliest - base) / window;
  if (windows == 0) return;
  auto moved = shrunk_.schedule;
  for (auto& at : moved) at -= windows * window;
  static_cast<void>(take_first_of({moved}));
}

}  // namespace

Shrunk shrink(Trial& trial, Shrunk found, const StillShows& still_shows, microseconds base,
              microseconds window, bool clock_steps_back, std::int64_t budget) {
  Shrinking shrinking(trial, std::move(found), still_shows, clock_steps_back, budget);
  shrinking.drop_requests();
  shrinking.join_instants();
  shrinking.begin_early(base, window);
  shrinking.round_times(window);
  shrinking.begin_early(base, window);
  shrinking.drop_requests();
  return shrinking.take();
}

}  // namespace rlctl::adversary
