#include "adversary/exhaustive.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rlctl::adversary {
namespace {

/// A schedule that was tried, and what it left.
struct Node {
  Branching::State state = Branching::kEmpty;
  Schedule schedule = {};
  Answers answers = {};
  ExactLog log;  ///< holds the allowed units
  bool has_delay = false;
  double share = 1;  ///< the part of all schedules that begin with this one
};

/// See exhaust().
class Exhaustion {
 public:
  Exhaustion(Branching& limiter, const SearchRequest& request, int requests)
      : limiter_(limiter), request_(request), requests_(static_cast<std::size_t>(requests)) {}

  SearchResult run(const Interrupt& interrupt, const OnExhaustiveProgress& on_progress) {
    nodes_.push_back({.log = ExactLog(request_.limit.window)});
    while (!nodes_.empty() && interrupt.signal() == 0) {
      take_nodes();
      try {
        limiter_.run(branches_);
      } catch (const Interrupted&) {
        break;
      }
      add_branches();
      if (on_progress && (++rounds_ % kRoundsOfProgress == 0 || limiter_.at_once() > 1)) {
        on_progress(tried_, share_, result_.most.score.worst);
      }
    }
    result_.tried = tried_;
    result_.sent_each_whole = limiter_.sends_each_whole();
    result_.requests_sent = limiter_.requests_sent();
    return std::move(result_);
  }

 private:
  static constexpr std::int64_t kRoundsOfProgress = 4096;

  /// Takes the latest nodes, which are the deepest, with all requests that may follow.
  void take_nodes() {
    taken_.clear();
    counts_.clear();
    branches_.clear();
    while (!nodes_.empty() && branches_.size() < limiter_.at_once()) {
      taken_.push_back(std::move(nodes_.back()));
      nodes_.pop_back();
      const auto& node = taken_.back();
      const auto before = branches_.size();
      const bool is_kept = node.schedule.size() + 1 < requests_;
      for (const auto at : critical_times(node.schedule, request_)) {
        for (const auto cost : request_.costs) {
          branches_.push_back({.from = node.state, .request = {at, cost}, .is_kept = is_kept});
        }
      }
      counts_.push_back(branches_.size() - before);
    }
  }

  void add_branches() {
    std::size_t next = 0;
    for (std::size_t number = 0; number < taken_.size(); ++number) {
      auto& node = taken_[number];
      const auto count = counts_[number];
      const auto share = node.share / static_cast<double>(count);
      for (const auto end = next + count; next < end; ++next) {
        add_branch(node, branches_[next], share);
      }
      if (node.state != Branching::kEmpty) limiter_.forget(node.state);
    }
  }

  void add_branch(const Node& node, const Branching::Branch& branch, double share) {
    ++tried_;
    if (branch.depends_on_chance) {
      ++result_.undecided;
      share_ += share;
      return;
    }
    judge(node, branch.request, branch.answer);
    if (branch.is_kept) {
      nodes_.push_back(child_of(node, branch, share));
    } else {
      share_ += share;
    }
  }

  static Node child_of(const Node& node, const Branching::Branch& branch, double share) {
    const auto at = branch.request.at;
    const auto cost = branch.request.cost;
    Node child{.state = branch.state,
               .schedule = node.schedule,
               .answers = node.answers,
               .log = node.log,
               .has_delay = node.has_delay || branch.answer.delay > microseconds{0},
               .share = share};
    child.schedule.push_back(branch.request);
    child.answers.push_back(branch.answer);
    if (branch.answer.allowed) child.log.add(at, cost);
    return child;
  }

  /// Whether the answer is worse than what was found so far. Most are not: the score is computed
  /// only if it may be.
  void judge(const Node& node, const Request& request, const Answer& answer) {
    if (request.cost <= 0) return;
    const bool is_delayed = node.has_delay || answer.delay > microseconds{0};
    if (is_delayed || result_.most.schedule.empty()) return keep(node, request, answer);
    const auto in_window = node.log.counted(request.at) + request.cost;
    if (!answer.allowed) {
      const bool is_wrong = in_window <= request_.limit.limit;
      if (is_wrong && may_be_denial(node, request)) keep(node, request, answer);
      return;
    }
    const auto& most = result_.most;
    if (in_window < most.score.worst && in_window <= request_.limit.limit) return;
    const auto from = node.log.oldest(request.at);
    const Score score{.worst = in_window, .worst_from = from, .worst_span = request.at - from};
    if (in_window < most.score.worst) return;
    const auto window = request_.limit.window;
    const bool is_worse = in_window > most.score.worst ||
                          margin_digits(score, window) > margin_digits(most.score, window) ||
                          comes_before(node, request, most.schedule);
    if (is_worse) keep(node, request, answer);
  }

  /// Whether the node with this request is a shorter schedule, or an equally long one with earlier
  /// times. The result then does not depend on the order in which schedules are tried.
  static bool comes_before(const Node& node, const Request& request, const Schedule& other) {
    if (node.schedule.size() + 1 != other.size()) return node.schedule.size() + 1 < other.size();
    for (std::size_t i = 0; i + 1 < other.size(); ++i) {
      if (node.schedule[i] != other[i]) return is_before(node.schedule[i], other[i]);
    }
    return is_before(request, other.back());
  }
  static bool is_before(const Request& one, const Request& other) {
    return one.at != other.at ? one.at < other.at : one.cost < other.cost;
  }

  /// Whether the schedule with this wrong denial may be kept; see SearchResult::keep_denial().
  bool may_be_denial(const Node& node, const Request& request) const {
    const auto& known = result_.wrongly_denied;
    return !known || known->score.only_at_edge() || comes_before(node, request, known->schedule);
  }

  void keep(const Node& node, const Request& request, const Answer& answer) {
    Finding finding{.schedule = node.schedule, .answers = node.answers};
    finding.schedule.push_back(request);
    finding.answers.push_back(answer);
    finding.score = score_of(finding.schedule, finding.answers, request_);
    const auto& denied = result_.wrongly_denied;
    result_.keep_denial(finding, denied && comes_before(node, request, denied->schedule));
    result_.keep_rounding(finding, request_);
    result_.keep_early_denial(finding.schedule, finding.answers, request_.limit);
    const auto window = request_.limit.window;
    auto& most = result_.most;
    if (!most.schedule.empty() && !is_weaker(most, finding, window) &&
        (is_weaker(finding, most, window) || !comes_before(node, request, most.schedule))) {
      return;
    }
    most = std::move(finding);
  }

  Branching& limiter_;
  const SearchRequest& request_;
  std::size_t requests_;
  std::vector<Node> nodes_;  ///< to be extended; the deepest last
  std::vector<Node> taken_;
  std::vector<Branching::Branch> branches_;  ///< all requests that may follow the taken nodes
  std::vector<std::size_t> counts_;          ///< how many branches each taken node has
  SearchResult result_;
  double share_ = 0;
  std::int64_t tried_ = 0, rounds_ = 0;
};

}  // namespace

std::vector<microseconds> critical_times(const Schedule& before, const SearchRequest& request) {
  const auto window = request.limit.window;
  constexpr microseconds kStep{1};
  const bool is_first = before.empty();
  const auto last = is_first ? request.base : before.back().at;
  std::vector<microseconds> times;
  const auto add = [&](microseconds at) {
    if (at < last || (is_first && at >= request.base + window)) return;
    times.push_back(at);
  };
  const auto add_around = [&](microseconds at) {
    for (const auto by : {-kStep, microseconds{0}, kStep}) add(at + by);
  };
  for (const auto after : {microseconds{0}, kStep, window / 4, window / 2, 3 * window / 4}) {
    add(last + after);
  }
  add_around(last - (last - request.base) % window + window);
  for (const auto& earlier : before) add_around(earlier.at + window);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

microseconds latest_time(const SearchRequest& request, int requests) {
  // 1 µs after the end of the window that began with the request before.
  return requests * (request.limit.window + microseconds{1});
}

SearchResult exhaust(Branching& limiter, const SearchRequest& request, int requests,
                     const Interrupt& interrupt, const OnExhaustiveProgress& on_progress) {
  return Exhaustion(limiter, request, requests).run(interrupt, on_progress);
}

SearchResult search_all(Branching& limiter, Trial& trial, const SearchRequest& request,
                        int requests, const Interrupt& interrupt,
                        const OnExhaustiveProgress& on_progress) {
  const auto found = exhaust(limiter, request, requests, interrupt, on_progress);
  return shrunk_result(trial, request, found, {}, interrupt, [&](std::int64_t /*sent*/) {
    if (on_progress) on_progress(*found.tried, 1, found.most.score.worst);
  });
}

SearchResult search_all(ScriptTrial& trial, const SearchRequest& request, int requests,
                        const Interrupt& interrupt, const OnExhaustiveProgress& on_progress) {
  trial.note_contents();
  const auto try_all = [&] {
    ReplayBranching replay(trial);
    return search_all(replay, trial, request, requests, interrupt, on_progress);
  };
  const bool was_apart = trial.is_apart();
  return confirmed_result(try_all, [&](SearchResult& result) {
    // Once it is known that schedules disturb each other, all that was found before is void.
    return trial.is_apart() == was_apart && is_confirmed(trial, result);
  });
}

}  // namespace rlctl::adversary
