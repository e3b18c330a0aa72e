#include "simulation/suggestion.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "limiter/limit.h"
#include "simulation/virtual_run.h"

namespace rlctl::simulation {
namespace {

constexpr std::int64_t kMinLimit = 1, kMaxLimit = limiter::kLargestLimit;
/// The limits shown around the suggested one, as multiples of it.
constexpr std::array kAround{0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0};
/// A larger limit may deny more than a smaller one, so bisection can miss a smaller limit: this
/// many below its result are tried too.
constexpr std::int64_t kTriedBelow = 4;
/// Roughly how many limits are tried, for the progress: bisection takes one for each bit.
constexpr double kExpectedTries = 34;

class Suggesting {
 public:
  Suggesting(const MakeTraffic& make_traffic, const script::Candidate& candidate,
             const DeniedShare& share, const Interrupt& interrupt,
             const OnSuggestionProgress& on_progress, const MakeDecider& make_decider)
      : make_traffic_(make_traffic),
        candidate_(candidate),
        share_(share),
        interrupt_(interrupt),
        on_progress_(on_progress),
        make_decider_(make_decider),
        least_(last_usable(kMinLimit)),
        most_(last_usable(kMaxLimit)) {}

  Suggestion run() {
    Suggestion suggestion;
    auto limit = smallest();
    if (!limit) {
      suggestion.tried.push_back(tried(most_));
      return suggestion;
    }
    // The table must not list a smaller limit that would also do; when costs differ, there can be
    // one.
    auto shown = around(*limit);
    while (true) {
      const auto first =
          *std::find_if(shown.begin(), shown.end(), [&](auto one) { return is_enough(one); });
      if (first >= *limit) break;
      limit = least_below(first);
      shown = around(*limit);
    }
    for (const auto one : shown) {
      if (one == limit) suggestion.chosen = suggestion.tried.size();
      suggestion.tried.push_back(tried(one));
    }
    return suggestion;
  }

 private:
  bool is_usable(std::int64_t limit) const {
    auto candidate = candidate_;
    candidate.limits.front().limit = limit;
    try {
      require_usable(candidate);
    } catch (const UsageError&) {
      return false;
    }
    return true;
  }

  /// The usable limit nearest to `towards`. The candidate's own limit is usable; with a burst, very
  /// small and very large ones are not.
  std::int64_t last_usable(std::int64_t towards) const {
    if (is_usable(towards)) return towards;
    auto usable = candidate_.limits.front().limit;
    while (usable != towards && std::abs(towards - usable) > 1) {
      const auto middle = usable + (towards - usable) / 2;
      (is_usable(middle) ? usable : towards) = middle;
    }
    return usable;
  }

  const LimitTried& tried(std::int64_t limit) {
    const auto known = tried_.find(limit);
    if (known != tried_.end()) return known->second;
    auto candidate = candidate_;
    candidate.limits.front().limit = limit;
    const auto traffic = make_traffic_();
    const auto decider = make_decider_ ? make_decider_(candidate, *traffic)
                                       : std::make_unique<ModelDecider>(candidate);
    const auto before = static_cast<double>(tried_.size());
    const auto size = static_cast<double>(std::max<std::int64_t>(1, traffic->size()));
    const auto outcome = run_virtually(
        *traffic, *decider, candidate.limits, interrupt_, {},
        [&](std::int64_t decided) {
          if (!on_progress_) return;
          const auto done = before + static_cast<double>(decided) / size;
          on_progress_(std::min(1.0, done / kExpectedTries), limit);
        },
        /*compares_reports=*/false);
    if (outcome.interrupted) interrupt_.check();
    decider->finish();
    const auto& measured = outcome.measured;
    return tried_
        .emplace(limit, LimitTried{.limit = limit,
                                   .sent = measured.sent,
                                   .denied = measured.denied,
                                   .keys = measured.keys,
                                   .keys_denied = measured.keys_denied})
        .first->second;
  }

  bool is_enough(std::int64_t limit) { return tried(limit).share(share_.of_keys) <= share_.most; }

  std::optional<std::int64_t> smallest() {
    auto enough = least_, too_small = least_ - 1;
    while (!is_enough(enough)) {
      if (enough == most_) return std::nullopt;
      too_small = enough;
      enough = std::min(2 * enough, most_);
    }
    while (enough - too_small > 1) {
      const auto middle = too_small + (enough - too_small) / 2;
      (is_enough(middle) ? enough : too_small) = middle;
    }
    return least_below(enough);
  }

  /// The smallest limit that is enough, of this one, which is, and kTriedBelow below it.
  std::int64_t least_below(std::int64_t enough) {
    for (auto below = enough - 1; below >= std::max(least_, enough - kTriedBelow); --below) {
      if (is_enough(below)) enough = below;
    }
    return enough;
  }

  /// The limits to show around this one, including it, the smallest first.
  std::vector<std::int64_t> around(std::int64_t limit) const {
    std::vector<std::int64_t> all{limit};
    for (const auto part : kAround) {
      const auto one = static_cast<std::int64_t>(part * static_cast<double>(limit));
      if (one >= least_ && one <= most_) all.push_back(one);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  const MakeTraffic& make_traffic_;
  const script::Candidate& candidate_;
  const DeniedShare& share_;
  const Interrupt& interrupt_;
  const OnSuggestionProgress& on_progress_;
  const MakeDecider& make_decider_;
  std::int64_t least_, most_;  ///< the range that the candidate supports
  std::map<std::int64_t, LimitTried> tried_;
};

}  // namespace

double LimitTried::share(bool of_keys) const {
  const auto all = of_keys ? keys : sent;
  const auto some = of_keys ? keys_denied : denied;
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

Suggestion suggest_limit(const MakeTraffic& make_traffic, const script::Candidate& candidate,
                         const DeniedShare& share, const Interrupt& interrupt,
                         const OnSuggestionProgress& on_progress, const MakeDecider& make_decider) {
  require_usable(candidate);
  if (candidate.limits.size() != 1) {
    throw UsageError("a limit can be suggested for one window, not for several");
  }
  return Suggesting(make_traffic, candidate, share, interrupt, on_progress, make_decider).run();
}

}  // namespace rlctl::simulation
