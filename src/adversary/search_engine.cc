#include "adversary/search_engine.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

namespace rlctl::adversary {
namespace {

/// How many schedules run together, to share round trips; and how many if none depends on the
/// answers to others.
constexpr std::size_t kAtOnce = 64, kManyAtOnce = 512;

template <typename List>
void append(List& list, const List& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

// ---- Schedules by chance ----

void SearchEngine::try_some(Trial& trial, Rules& rules, traffic::Random& random,
                            std::int64_t tries) try {
  const auto end = totals_.requests_sent + tries;
  const auto at_once = rules.learns() ? kAtOnce : kManyAtOnce;
  std::vector<Schedule> known;
  std::size_t next = 0;
  while (!is_interrupted() && !rules.is_done() && totals_.requests_sent < end) {
    if (next == known.size()) {
      known = rules.next_known();
      next = 0;
    }
    std::vector<Schedule> batch;
    while (batch.size() < at_once && next < known.size()) batch.push_back(std::move(known[next++]));
    const bool has_room = batch.size() < at_once && (batch.empty() || !rules.learns());
    const auto left = end - totals_.requests_sent;
    if (has_room) {
      do batch.push_back(rules.new_schedule(random));
      while (batch.size() < at_once && (rules.learns() || requests_of(batch) < left));
    }
    for (auto& schedule : batch) {
      if (schedule.empty()) continue;
      append(schedule, rules.probe_after(schedule.back().at, last_holder(schedule)));
    }
    auto answers = run(trial, batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      judge(rules, std::move(batch[i]), std::move(answers[i]));
    }
    show_progress();
  }
} catch (const Interrupted&) {
}

std::vector<Answers> SearchEngine::run(Trial& trial, std::span<const Schedule> schedules) {
  totals_.requests_sent += requests_of(schedules);
  return trial.run(schedules);
}

void SearchEngine::judge(Rules& rules, Schedule schedule, Answers answers, std::int64_t schedules) {
  if (answers.empty()) {
    totals_.undecided += schedules;
    return;
  }
  rules.judge(std::move(schedule), std::move(answers));
  most_ = std::max(most_, rules.most());
}

void SearchEngine::show_progress() {
  if (!on_progress_) return;
  if (totals_.tried) {
    on_progress_(*totals_.tried, std::min(share_, 1.0), most_);
  } else {
    const auto share = static_cast<double>(totals_.requests_sent) / static_cast<double>(tries_);
    on_progress_(totals_.requests_sent, share, most_);
  }
}

SearchTotals SearchEngine::totals() const {
  auto totals = totals_;
  totals.interrupted = is_interrupted();
  return totals;
}

// ---- Every schedule ----

/// See SearchEngine::try_all().
class SearchEngine::Exhaustion {
 public:
  Exhaustion(SearchEngine& engine, Trial& trial, Branching& limiter, Rules& rules, int requests)
      : engine_(engine),
        trial_(trial),
        limiter_(limiter),
        rules_(rules),
        requests_(static_cast<std::size_t>(requests)) {}

  void run() {
    constexpr std::int64_t kRoundsOfProgress = 4096;
    nodes_.push_back({});
    for (std::int64_t round = 1; !nodes_.empty() && !engine_.is_interrupted(); ++round) {
      take_nodes();
      limiter_.run(branches_);
      judge_branches();
      if (round % kRoundsOfProgress == 0 || limiter_.at_once() > 1) engine_.show_progress();
    }
  }

 private:
  /// A schedule that was tried, and what it left.
  struct Node {
    std::shared_ptr<Branching::State> state = {};
    Schedule schedule = {};
    Answers answers = {};
    std::int64_t schedules = 1;  ///< how many have this state
    double share = 1;            ///< the part of all schedules that begin with these
  };
  struct Taken {
    Node node = {};
    bool is_probed = false;    ///< its first branch is a probe
    std::size_t branches = 0;  ///< its number of branches
  };

  /// Takes nodes with all requests that may follow: the latest, which are the deepest, so that few
  /// wait; or those of the least depth, once all that have equal states are known.
  void take_nodes() {
    taken_.clear();
    branches_.clear();
    while (!nodes_.empty() && branches_.size() < limiter_.at_once()) {
      auto& next = rules_.merges_states() ? nodes_.front() : nodes_.back();
      const auto depth = next.schedule.size();
      if (rules_.merges_states()) {
        if (!taken_.empty() && taken_.front().node.schedule.size() != depth) break;
        if (taken_.empty()) by_key_.erase(depth);
        taken_.push_back({.node = std::move(next)});
        nodes_.pop_front();
      } else {
        taken_.push_back({.node = std::move(next)});
        nodes_.pop_back();
      }
      add_branches(taken_.back());
    }
  }

  void add_branches(Taken& taken) {
    const auto& node = taken.node;
    const auto before = branches_.size();
    const auto holder = last_holder(node.schedule);
    const bool is_kept = node.schedule.size() + 1 < requests_;
    if (!node.schedule.empty()) {
      auto probe = rules_.probe_after(node.schedule.back().at, holder);
      taken.is_probed = !probe.empty();
      if (taken.is_probed) {
        branches_.push_back({.from = node.state, .requests = std::move(probe)});
      }
    }
    for (const auto& request : rules_.requests_after(node.schedule, node.answers)) {
      auto& branch = branches_.emplace_back();
      branch = {.from = node.state, .requests = {request}, .is_kept = is_kept};
      if (is_kept) continue;
      append(branch.requests, rules_.probe_after(request.at, std::max(holder, request.holder)));
    }
    taken.branches = branches_.size() - before;
  }

  void judge_branches() {
    auto next = branches_.begin();
    for (const auto& [node, is_probed, branches] : taken_) {
      const auto end = next + static_cast<std::ptrdiff_t>(branches);
      const auto share = node.share / static_cast<double>(branches - (is_probed ? 1 : 0));
      rules_.begin_after(node.schedule, node.answers);
      if (is_probed) judge(node, *next++);
      for (; next != end; ++next) {
        *engine_.totals_.tried += node.schedules;
        judge(node, *next);
        if (next->is_kept && !next->answers.empty()) {
          add_child(node, *next, share);
        } else {
          engine_.share_ += share;
        }
      }
    }
  }

  void judge(const Node& node, const Branching::Branch& branch) {
    const auto& answers = branch.answers;
    if (answers.empty()) return engine_.judge(rules_, {}, {}, node.schedules);
    schedule_ = node.schedule;
    answers_ = node.answers;
    append(schedule_, branch.requests);
    append(answers_, answers);
    trial_.note_tried(schedule_, answers_);
    if (!rules_.is_worth_judging(branch.requests.front(), answers.front())) return;
    engine_.judge(rules_, schedule_, answers_);
  }

  void add_child(const Node& node, const Branching::Branch& branch, double share) {
    Node child{.state = branch.state,
               .schedule = node.schedule,
               .answers = node.answers,
               .schedules = node.schedules,
               .share = share};
    append(child.schedule, branch.requests);
    append(child.answers, branch.answers);
    if (!rules_.merges_states()) {
      nodes_.push_back(std::move(child));
      return;
    }
    auto key = std::pair(child.state->identity(), rules_.state_key(child.schedule, child.answers));
    auto& same = by_key_[child.schedule.size()][std::move(key)];
    if (same == nullptr) {
      nodes_.push_back(std::move(child));
      same = &nodes_.back();
    } else {
      same->schedules += child.schedules;
      same->share += child.share;
    }
  }

  SearchEngine& engine_;
  Trial& trial_;
  Branching& limiter_;
  Rules& rules_;
  std::size_t requests_;
  std::deque<Node> nodes_;  ///< to be extended; the deepest last
  /// If states are merged, the waiting nodes, by their length and their state.
  std::map<std::size_t, std::map<std::pair<std::string, std::string>, Node*>> by_key_;
  std::vector<Taken> taken_;
  std::vector<Branching::Branch> branches_;  ///< all requests that may follow the taken nodes
  Schedule schedule_;  ///< the one that is judged; kept, so that none of millions allocates
  Answers answers_;
};

void SearchEngine::try_all(Trial& trial, Rules& rules, int requests) {
  totals_.tried = 0;
  const auto limiter = trial.branching();
  try {
    Exhaustion(*this, trial, *limiter, rules, requests).run();
  } catch (const Interrupted&) {
  }
  totals_.requests_sent += limiter->requests_sent();
}

// ---- Smaller schedules ----

void SearchEngine::shrink(Trial& trial, const Rules& rules, Schedule& schedule, Answers& answers,
                          const StillShows& still_shows) try {
  Shrinking shrinking(*this, trial, schedule, answers, still_shows);
  rules.simplify(shrinking);
} catch (const Interrupted&) {
  // The schedule found so far also shows the finding.
}

bool Shrinking::take_first_of(std::vector<Schedule> candidates) {
  std::erase_if(candidates, [](const Schedule& schedule) { return schedule.empty(); });
  const auto requests = requests_of(candidates);
  if (candidates.empty() || requests > left_ || engine_.is_interrupted()) return false;
  left_ -= requests;
  engine_.show_progress();
  auto answers = engine_.run(trial_, candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (answers[i].empty() || !still_shows_(candidates[i], answers[i])) continue;
    schedule_ = std::move(candidates[i]);
    answers_ = std::move(answers[i]);
    return true;
  }
  return false;
}

std::vector<microseconds> learned_ttls(Trial& trial, std::span<const Schedule> schedules) try {
  std::vector<microseconds> all;
  for (const auto& schedule : schedules) append(all, trial.ttls(schedule));
  std::erase_if(all, [](microseconds ttl) { return ttl <= microseconds{1}; });
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
} catch (const Interrupted&) {
  return {};
}

}  // namespace rlctl::adversary
