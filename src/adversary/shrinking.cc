#include "adversary/shrinking.h"

#include <algorithm>
#include <cstddef>
#include <functional>
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

/// Whether a schedule with this score still shows what was found.
using StillShows = std::function<bool(const Score&)>;

/// Makes a finding smaller; see shrunk_result().
class Shrinking {
 public:
  /// `steps_back`: times may go back. The references must outlive this.
  Shrinking(Trial& trial, const SearchRequest& request, Finding found, bool steps_back,
            const StillShows& still_shows)
      : trial_(trial),
        request_(request),
        still_shows_(still_shows),
        steps_back_(steps_back),
        found_(std::move(found)) {}

  [[nodiscard]] Finding run() {
    try {
      make_smaller();
    } catch (const Interrupted&) {
      // What is smaller so far shows the finding too.
    }
    return std::move(found_);
  }
  /// The requests sent.
  [[nodiscard]] std::int64_t asked() const { return asked_; }

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
  /// does, or if the budget is used up.
  bool take_first_of(std::vector<Schedule> candidates) {
    std::erase_if(candidates, [this](const Schedule& schedule) { return !is_within(schedule); });
    const auto requests = requests_of(candidates);
    if (asked_ + requests > request_.budget) return false;
    asked_ += requests;
    auto answers = trial_.ask(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (answers[i].empty()) continue;
      auto score = score_of(candidates[i], answers[i], request_);
      if (!still_shows_(score)) continue;
      found_ = {std::move(candidates[i]), std::move(answers[i]), std::move(score)};
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_within(const Schedule& schedule) const {
    if (!steps_back_ && steps_back(schedule)) return false;
    return std::all_of(schedule.begin(), schedule.end(), [&](const Request& request) {
      const auto offset = request.at - request_.base;
      const bool is_possible = offset >= 0us && request.at <= limiter::kLatestNow;
      return is_possible && offset % request_.tick == 0us;
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
  bool steps_back_;
  Finding found_;
  std::int64_t asked_ = 0;
};

}  // namespace

SearchResult shrunk_result(Trial& trial, const SearchRequest& request, const SearchResult& forward,
                           const SearchResult& stepping_back, const Interrupt& interrupt) {
  const auto window = request.limit.window;
  auto result = forward;
  result.has_stepped_back = stepping_back.has_stepped_back;
  result.undecided += stepping_back.undecided;
  result.asked += stepping_back.asked;
  const auto shrink = [&](Finding& finding, bool steps_back, const StillShows& still_shows) {
    if (interrupt.signal() != 0) return;
    Shrinking shrinking(trial, request, std::move(finding), steps_back, still_shows);
    finding = shrinking.run();
    result.asked += shrinking.asked();
  };
  // As many units, in a span that is not much longer.
  const auto shrink_most = [&](Finding& finding, bool steps_back) {
    const auto units = finding.score.worst;
    const auto digits = margin_digits(finding.score, window);
    shrink(finding, steps_back, [&](const Score& score) {
      return score.worst >= units && margin_digits(score, window) >= digits;
    });
  };
  if (!result.most.schedule.empty()) shrink_most(result.most, false);
  if (stepping_back.most.score.worst > forward.most.score.worst) {
    result.most_stepping_back = stepping_back.most;
    shrink_most(*result.most_stepping_back, true);
  }
  if (stepping_back.wrongly_denied) result.keep_denial(*stepping_back.wrongly_denied, false);
  if (auto& wrong = result.wrongly_denied) {
    // A wrong denial that is as serious.
    const bool is_minor = wrong->score.only_at_edge();
    shrink(*wrong, steps_back(wrong->schedule), [is_minor](const Score& score) {
      return !score.wrongly_denied.empty() && (is_minor || !score.only_at_edge());
    });
  }
  result.interrupted = interrupt.signal() != 0;
  return result;
}

}  // namespace rlctl::adversary
