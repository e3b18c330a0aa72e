#include "adversary/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <utility>

#include "adversary/request_rules.h"
#include "base/error.h"

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;

/// The share of the tries for clocks that step back.
constexpr double kBackwardShare = 0.1;
/// The number of TTLs for which there are schedules.
constexpr std::size_t kMaxTtls = 8;

/// The TTLs that keys have after a request, and after one more than fill the limit.
std::vector<microseconds> observed_ttls(Trial& trial, const SearchRequest& request) {
  const auto cost = request.costs[0];
  const auto fills = static_cast<std::size_t>(requests_to_fill(request.limit, cost));
  return learned_ttls(
      trial, std::array{Schedule{{request.base, cost}}, Schedule(fills + 1, {request.base, cost})});
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

/// One complete search, whose findings are not confirmed.
class Search {
 public:
  Search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
         const OnProgress& on_progress)
      : trial_(trial), request_(request), engine_(request.tries, interrupt, on_progress) {}

  SearchResult run() {
    if (request_.exhaustive) {
      RequestRules rules(request_, false, {});
      engine_.try_all(trial_, rules, *request_.exhaustive);
      result_ = rules.take_result();
      shrink_findings({});
    } else {
      shrink_findings(try_some());
    }
    if (!engine_.is_interrupted()) continue_edge();
    static_cast<SearchTotals&>(result_) = engine_.totals();
    return std::move(result_);
  }

 private:
  /// Tries a clock that never steps back, and returns what one that may shows.
  SearchResult try_some() {
    traffic::Random random(request_.seed);
    const auto all_ttls = observed_ttls(trial_, request_);
    const auto ttls = std::span(all_ttls).first(count_awaited(all_ttls, request_));
    const auto tries = static_cast<double>(request_.tries);
    const auto backward_tries =
        request_.steps_back ? static_cast<std::int64_t>(kBackwardShare * tries) : 0;
    RequestRules forward(request_, false, ttls);
    engine_.try_some(trial_, forward, random, request_.tries - backward_tries);
    result_ = forward.take_result();
    result_.ttls_left_out = all_ttls.size() - ttls.size();
    RequestRules stepping_back(request_, true, ttls);
    engine_.try_some(trial_, stepping_back, random, backward_tries);
    return stepping_back.take_result();
  }

  void shrink_findings(const SearchResult& stepping_back) {
    result_.has_stepped_back = stepping_back.has_stepped_back;
    const auto most_forward = result_.most.score.worst;
    if (!result_.most.schedule.empty()) shrink_most(result_.most, request_);
    if (auto& rounded = result_.by_rounding) {
      if (rounded->score.worst <= result_.most.score.worst) {
        rounded.reset();
      } else {
        auto exact = request_;
        exact.tick = kExact;
        shrink_most(*rounded, exact);
      }
    }
    if (stepping_back.most.score.worst > most_forward) {
      result_.most_stepping_back = stepping_back.most;
      shrink_most(*result_.most_stepping_back, request_);
    }
    if (stepping_back.wrongly_denied) result_.keep_denial(*stepping_back.wrongly_denied, false);
    if (result_.wrongly_denied) shrink_denial(*result_.wrongly_denied);
  }

  void shrink(Finding& finding, const SearchRequest& scored,
              const std::function<bool(const Score&)>& still_shows) {
    const RequestRules rules(request_, false, {});
    engine_.shrink(trial_, rules, finding.schedule, finding.answers,
                   [&](const Schedule& schedule, const Answers& answers) {
                     return still_shows(score_of(schedule, answers, scored));
                   });
    finding.score = score_of(finding.schedule, finding.answers, scored);
  }

  /// A smaller schedule counts only if it allows as many units, in a span that is not much longer.
  void shrink_most(Finding& finding, const SearchRequest& scored) {
    const auto window = request_.limit.window;
    const auto units = finding.score.worst;
    const auto digits = margin_digits(finding.score, window);
    shrink(finding, scored, [=](const Score& score) {
      return score.worst >= units && margin_digits(score, window) >= digits;
    });
  }

  /// A smaller schedule counts only if its denial is equally serious.
  void shrink_denial(Finding& denied) {
    const bool is_minor = denied.score.only_at_edge();
    shrink(denied, request_, [=](const Score& score) {
      return !score.wrongly_denied.empty() && (is_minor || !score.only_at_edge());
    });
  }

  /// Finds out whether a denial at the edge is all that differs: sets SearchResult::edge_agrees, or
  /// keeps a denial that is more serious, unless a proof is about the schedules that were tried for
  /// it.
  void continue_edge() try {
    const auto edge = result_.wrongly_denied;
    if (!edge || !edge->score.only_at_edge()) return;
    const auto number = edge->score.wrongly_denied.front();
    auto later = edge->schedule;
    later.resize(number + 1);
    later.back().at += clock_step(request_);
    const auto found_later = run_all({later});
    const auto continued =
        run_all(continued_schedules(edge->schedule, request_.limit, edge->schedule[number].cost));
    for (const auto& found : continued) result_.keep_denial(found, false);
    auto& denied = *result_.wrongly_denied;
    result_.edge_agrees = !found_later.empty() && found_later.front().answers.back().allowed &&
                          !continued.empty() && denied.score.only_at_edge();
    if (request_.exhaustive) {
      denied = *edge;
    } else if (denied.schedule != edge->schedule) {
      shrink_denial(denied);
    }
  } catch (const Interrupted&) {
  }

  /// Runs the schedules, and returns those that were answered. Sends nothing if that would take
  /// more requests than there are tries.
  std::vector<Finding> run_all(std::vector<Schedule> schedules) {
    std::erase_if(schedules, [](const Schedule& schedule) {
      return std::ranges::any_of(schedule,
                                 [](const Request& each) { return each.at > limiter::kLatestNow; });
    });
    if (requests_of(schedules) > request_.tries) return {};
    const auto answers = engine_.run(trial_, schedules);
    std::vector<Finding> found;
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      if (answers[i].empty()) continue;
      found.push_back({schedules[i], answers[i], score_of(schedules[i], answers[i], request_)});
    }
    return found;
  }

  Trial& trial_;
  const SearchRequest& request_;
  SearchEngine engine_;
  SearchResult result_;
};

}  // namespace

microseconds latest_time(const SearchRequest& request) {
  // 1 µs after the end of the window that began with the request before.
  if (request.exhaustive) return *request.exhaustive * (request.limit.window + 1us);
  // No search takes place if the tries do not fill the limit.
  const auto fills = std::min(most_fills(request), request.tries);
  return std::max(kMaxWindows * request.limit.window,
                  latest_of_forward(request.limit, fills, most_requests(fills)));
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

std::vector<const Finding*> SearchResult::findings() const {
  std::vector<const Finding*> findings;
  if (!most.schedule.empty()) findings.push_back(&most);
  for (const auto* found : {&most_stepping_back, &by_rounding, &wrongly_denied}) {
    if (*found) findings.push_back(&**found);
  }
  return findings;
}

void require_enough_tries(const SearchRequest& request) {
  const auto fills = most_fills(request);
  if (request.tries / kMinFills >= fills) return;
  throw UsageError(
      fmt::format("{} requests are too few for a limit that {} requests fill", request.tries,
                  fills),
      fmt::format("pass --tries {} or more, or a smaller limit, which has most of the same flaws",
                  kMinFills * fills));
}

SearchResult search(Trial& trial, const SearchRequest& request, const Interrupt& interrupt,
                    const OnProgress& on_progress) {
  return confirmed(trial, Search(trial, request, interrupt, on_progress).run());
}

}  // namespace rlctl::adversary
