#include "adversary/holdings.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "adversary/holding_rules.h"
#include "base/error.h"

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;

/// Numbers the holders in the order in which they come.
Schedule renumbered(Schedule schedule) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (auto& request : schedule) {
    const auto next = static_cast<std::uint32_t>(numbers.size() + 1);
    request.holder = numbers.try_emplace(request.holder, next).first->second;
  }
  return schedule;
}

/// What both searches have in common.
class HoldingsPass {
 public:
  HoldingsPass(Trial& trial, const HoldingSearch& request, const Interrupt& interrupt)
      : trial_(trial),
        rules_(request.has_leases ? make_lease_rules(request) : make_budget_rules(request)),
        request_(request),
        interrupt_(interrupt) {
    set_ttls();
  }

  void random(const OnSearchProgress& on_progress) {
    std::vector<Schedule> batch;
    const auto send = [&] {
      std::vector<Schedule> probed;
      for (auto& schedule : std::exchange(batch, {})) {
        probed.push_back(rules_->with_probe(std::move(schedule)));
      }
      const auto answers = run(probed);
      for (std::size_t i = 0; i < probed.size(); ++i) judge(probed[i], answers[i]);
      if (on_progress) on_progress(result_.requests_sent, request_.tries, result_.held);
    };
    const auto is_spent = [&] {
      return result_.requests_sent >= request_.tries || interrupt_.signal() != 0;
    };
    for (auto& schedule : rules_->known_schedules()) {
      batch.push_back(std::move(schedule));
      if (batch.size() < kAtOnce) continue;
      send();
      if (is_spent()) return;
    }
    const auto is_full = [&] {
      return batch.size() >= kAtOnce ||
             requests_of(batch) >= request_.tries - result_.requests_sent;
    };
    traffic::Random random(request_.seed);
    while (!is_spent()) {
      do batch.push_back(rules_->random_schedule(random));
      while (!is_full());
      send();
    }
  }

  void exhaust(int events, const OnExhaustiveProgress& on_progress) {
    std::int64_t tried = 0;
    double share = 0;
    result_.tried = 0;
    std::vector<Node> nodes(1);
    for (int depth = 1; depth <= events; ++depth) {
      const bool is_last = depth == events;
      std::vector<Node> next;
      std::unordered_map<std::string, std::size_t> known;
      std::vector<Node> children;
      const auto send = [&] {
        if (is_last) {
          share += try_last(children);
        } else {
          try_children(children, next, known);
        }
        for (const auto& child : children) tried += child.schedules;
        children.clear();
        result_.tried = tried;
        if (on_progress) on_progress(tried, std::min(share, 1.0), result_.held);
      };
      for (auto& node : nodes) {
        add_children(node, children);
        node = {};
        if (children.size() < kAtOnce) continue;
        send();
        if (interrupt_.signal() != 0) throw Interrupted();
      }
      send();
      if (!is_last) probe(next);
      nodes = std::move(next);
    }
  }

  void shrink_all(const OnSent& on_sent) {
    for (auto* finding : {&result_.overfilled, &result_.leak}) {
      if (*finding) shrink(**finding, finding == &result_.leak, on_sent);
    }
    if (result_.leak) result_.leaks_for_ever = is_for_ever(*result_.leak);
  }
  HoldingSearchResult& result() { return result_; }

 private:
  static constexpr std::size_t kAtOnce = 512;

  /// A schedule of an exhaustive search.
  struct Node {
    Schedule schedule = {};
    Answers answers = {};
    std::int64_t schedules = 1;  ///< how many have this state
    double share = 1;            ///< the part of all schedules that begin with this one
  };

  std::vector<Answers> run(std::span<const Schedule> schedules) {
    for (const auto& schedule : schedules) {
      result_.requests_sent += static_cast<std::int64_t>(schedule.size());
    }
    return trial_.run(schedules);
  }

  /// Learns how long keys live.
  void set_ttls() {
    auto ttls = learned_ttls(trial_, rules_->typical_schedules(), result_.requests_sent);
    std::erase_if(ttls, [](microseconds ttl) { return ttl <= 0us || ttl >= kYear; });
    rules_->set_ttls(std::move(ttls));
    result_.grace = rules_->grace();
  }

  void judge(const Schedule& schedule, const Answers& answers, std::int64_t schedules = 1) {
    if (answers.empty()) {
      result_.undecided += schedules;
      return;
    }
    const auto score = rules_->score_of(schedule, answers);
    result_.held = std::max(result_.held, score.held);
    result_.leaked = std::max(result_.leaked, score.leaked);
    if (score.held > request_.limit.limit) {
      keep(result_.overfilled, schedule, answers, score.held_at);
    }
    if (score.leaked > 0) keep(result_.leak, schedule, answers, score.leaked_at);
  }
  void keep(std::optional<HoldingFinding>& known, const Schedule& schedule, const Answers& answers,
            std::size_t last) {
    if (known && known->schedule.size() <= last + 1) return;
    const auto end = static_cast<std::ptrdiff_t>(last + 1);
    known = {.schedule = {schedule.begin(), schedule.begin() + end},
             .answers = {answers.begin(), answers.begin() + end}};
    known->score = rules_->score_of(known->schedule, known->answers);
  }

  // ---- Exhaustive ----

  /// Every event that may follow.
  void add_children(const Node& node, std::vector<Node>& children) const {
    const auto events = rules_->events_after(node.schedule);
    std::vector<microseconds> times{request_.base};
    if (!node.schedule.empty()) times = rules_->times_after(node.schedule, node.answers);
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const auto share = node.share / static_cast<double>(times.size() * events.size());
    for (const auto at : times) {
      for (auto event : events) {
        event.at = at;
        auto& child = children.emplace_back(node);
        child.share = share;
        child.schedule.push_back(event);
      }
    }
  }

  static std::vector<Schedule> schedules_of(const std::vector<Node>& nodes) {
    std::vector<Schedule> schedules;
    for (const auto& node : nodes) schedules.push_back(node.schedule);
    return schedules;
  }

  /// Adds those to `next` whose state is not yet known.
  void try_children(std::vector<Node>& children, std::vector<Node>& next,
                    std::unordered_map<std::string, std::size_t>& known) {
    auto answers = run(schedules_of(children));
    const auto contents = trial_.contents();
    for (std::size_t i = 0; i < children.size(); ++i) {
      auto& child = children[i];
      child.answers = std::move(answers[i]);
      judge(child.schedule, child.answers, child.schedules);
      if (child.answers.empty()) continue;
      if (!contents.empty()) {
        const auto last = child.schedule.back().at;
        auto key = contents[i] + '|' + std::to_string(last.count()) + '|' +
                   std::to_string(last_holder(child.schedule)) + '|' +
                   rules_->state_of(child.schedule, child.answers);
        const auto [same, is_new] = known.try_emplace(std::move(key), next.size());
        if (!is_new) {
          next[same->second].schedules += child.schedules;
          next[same->second].share += child.share;
          continue;
        }
      }
      next.push_back(child);
    }
  }

  void probe(const std::vector<Node>& nodes) {
    for (std::span<const Node> rest = nodes; !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), kAtOnce));
      std::vector<Node> part(some.begin(), some.end());
      static_cast<void>(try_last(part));
      if (interrupt_.signal() != 0) throw Interrupted();
      rest = rest.subspan(some.size());
    }
  }

  /// Tries them with probes, and returns their share.
  double try_last(const std::vector<Node>& nodes) {
    auto schedules = schedules_of(nodes);
    for (auto& schedule : schedules) {
      schedule = rules_->with_probe(std::move(schedule));
    }
    const auto answers = run(schedules);
    double share = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      judge(schedules[i], answers[i], nodes[i].schedules);
      share += nodes[i].share;
    }
    return share;
  }

  // ---- Making findings smaller ----

  /// Takes the first candidate that still shows the finding; false if none does.
  bool take(HoldingFinding& finding, bool is_leak, std::vector<Schedule> candidates) {
    std::erase_if(candidates, [](const Schedule& schedule) { return schedule.empty(); });
    const auto answers = run(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (answers[i].empty()) continue;
      const auto score = rules_->score_of(candidates[i], answers[i]);
      if (is_leak ? score.leaked == 0 : score.held <= request_.limit.limit) continue;
      std::optional<HoldingFinding> smaller;
      keep(smaller, candidates[i], answers[i], is_leak ? score.leaked_at : score.held_at);
      finding = *std::move(smaller);
      return true;
    }
    return false;
  }

  void shrink(HoldingFinding& finding, bool is_leak, const OnSent& on_sent) {
    const auto end = result_.requests_sent + request_.tries;
    const auto goes_on = [&] {
      if (on_sent) on_sent(result_.requests_sent);
      return result_.requests_sent < end && interrupt_.signal() == 0;
    };
    for (bool is_smaller = true; is_smaller && goes_on();) {
      is_smaller = take(finding, is_leak, without_some(finding.schedule));
      is_smaller |= take(finding, is_leak, rules_->simpler(finding.schedule));
      for (std::size_t i = 1; i < finding.schedule.size() && goes_on(); ++i) {
        is_smaller |= take(finding, is_leak, with_smaller_gap(finding.schedule, i));
      }
    }
    auto schedule = renumbered(finding.schedule);
    take(finding, is_leak, {std::move(schedule)});
  }

  /// The schedule without the events of each holder, then without each event.
  static std::vector<Schedule> without_some(const Schedule& schedule) {
    std::vector<Schedule> all;
    for (std::uint32_t holder = 1; holder <= last_holder(schedule); ++holder) {
      all.push_back(schedule);
      if (std::erase_if(all.back(), [&](const Request& each) { return each.holder == holder; }) ==
          0)
        all.pop_back();
    }
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      all.push_back(schedule);
      all.back().erase(all.back().begin() + static_cast<std::ptrdiff_t>(i));
    }
    return all;
  }

  /// The schedule in which this event comes sooner after the one before it, and all that follow,
  /// too; then the same without those.
  std::vector<Schedule> with_smaller_gap(const Schedule& schedule, std::size_t event) const {
    const auto gap = schedule[event].at - schedule[event - 1].at;
    std::vector<microseconds> gaps(rules_->gaps().begin(), rules_->gaps().end());
    const auto shortest = rules_->durations().front();
    for (int times = 2; times * shortest < gap && times <= 8; ++times) {
      gaps.push_back(times * shortest);
    }
    std::vector<Schedule> all;
    for (const auto smaller : gaps) {
      if (smaller >= gap) continue;
      for (const bool moves_all : {true, false}) {
        all.push_back(schedule);
        const auto last = moves_all ? schedule.size() : event + 1;
        for (auto i = event; i < last; ++i) all.back()[i].at -= gap - smaller;
      }
    }
    return all;
  }

  bool is_for_ever(const HoldingFinding& leak) {
    auto schedule = leak.schedule;
    const auto last = schedule.back().at;
    // Those who ask for what is lost.
    for (auto i = schedule.size(); i-- > 0;) {
      const auto event = schedule[i].event;
      if (event != traffic::Event::kRequest && event != traffic::Event::kReserve) break;
      if (schedule[i].at != last) break;
      schedule[i].at += kYear;
      if (event != traffic::Event::kReserve) continue;
      // Reserves before the last one may be what takes the units. By then, all should be free.
      schedule[i].cost = request_.limit.limit;
      break;
    }
    const auto answers = run({&schedule, 1});
    return !answers.front().empty() && rules_->score_of(schedule, answers.front()).leaked > 0;
  }

  Trial& trial_;
  std::unique_ptr<HoldingRules> rules_;
  const HoldingSearch& request_;
  const Interrupt& interrupt_;
  HoldingSearchResult result_;
};

/// Searches by `find`.
template <typename Find>
HoldingSearchResult search_confirmed(Trial& trial, const HoldingSearch& request,
                                     const Interrupt& interrupt, const OnSent& on_sent,
                                     const Find& find) {
  const auto search_once = [&] {
    HoldingsPass search(trial, request, interrupt);
    bool is_interrupted = false;
    try {
      find(search);
      search.shrink_all(on_sent);
    } catch (const Interrupted&) {
      is_interrupted = true;
    }
    auto result = std::move(search.result());
    result.interrupted = is_interrupted || interrupt.signal() != 0;
    return result;
  };
  return confirmed_result(search_once, [&](HoldingSearchResult& result) {
    std::vector<const HoldingFinding*> findings;
    for (const auto* found : {&result.overfilled, &result.leak}) {
      if (*found) findings.push_back(&**found);
    }
    return is_confirmed(trial, result, findings);
  });
}

void require_enough_tries(const HoldingSearch& search) {
  constexpr std::int64_t kMinProbes = 50;
  if (search.tries / kMinProbes >= search.limit.limit) return;
  throw UsageError(fmt::format(
      "--tries: {} events are too few for {} leases: give at least {}, or search with fewer "
      "leases, which show the same flaws",
      search.tries, search.limit.limit, kMinProbes * search.limit.limit));
}

}  // namespace

microseconds latest_time(microseconds ends, std::optional<int> events) {
  constexpr int kEventsOfRandom = 50;
  // TTLs that are longer than a year are left out.
  return (events.value_or(kEventsOfRandom) + 4) * (ends + kTtlMargin) + 2 * kYear;
}

HoldingSearchResult search_holdings(Trial& trial, const HoldingSearch& search,
                                    const Interrupt& interrupt,
                                    const OnSearchProgress& on_progress) {
  if (search.has_leases) require_enough_tries(search);
  const auto on_sent = [&](std::int64_t sent) {
    if (on_progress) on_progress(sent, search.tries, search.limit.limit);
  };
  return search_confirmed(trial, search, interrupt, on_sent,
                          [&](HoldingsPass& each) { each.random(on_progress); });
}

HoldingSearchResult search_all_holdings(Trial& trial, const HoldingSearch& search, int events,
                                        const Interrupt& interrupt,
                                        const OnExhaustiveProgress& on_progress) {
  return search_confirmed(trial, search, interrupt, {},
                          [&](HoldingsPass& each) { each.exhaust(events, on_progress); });
}

}  // namespace rlctl::adversary
