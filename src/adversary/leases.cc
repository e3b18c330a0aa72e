#include "adversary/leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "limiter/lease_model.h"
#include "traffic/pattern.h"

namespace rlctl::adversary {
namespace {

using namespace std::chrono_literals;
using traffic::Event;

constexpr microseconds kYear = 8760h;

/// The leases that holders believe to have.
class HeldLeases {
 public:
  explicit HeldLeases(microseconds lease) : lease_(lease) {}

  void add(const Request& request, const Answer& answer) {
    if (request.event == Event::kRelease) return release(request);
    if (!answer.allowed) return;
    auto* known = find(request.holder);
    if (request.event == Event::kRequest) {
      if (known == nullptr) known = &leases_.emplace_back();
      known->holder = request.holder;
    } else if (known == nullptr || known->is_released) {
      return;  // no lease that could run again
    }
    const bool runs = !known->is_released && known->end > request.at;
    if (!runs) known->slots = 0;
    if (!runs || request.event == Event::kRequest) ++known->slots;
    known->end = std::max(known->end, request.at + lease_);
    known->is_released = false;
  }
  bool holds(std::uint32_t holder, microseconds at) const {
    return std::ranges::any_of(leases_, [&](const Lease& lease) {
      return lease.holder == holder && !lease.is_released && lease.end > at;
    });
  }
  /// See LeaseStep::note.
  std::string_view note_on(const Request& request) const {
    if (request.event == Event::kRequest) return {};
    const auto found = std::ranges::find(leases_, request.holder, &Lease::holder);
    if (found == leases_.end()) return "never held";
    if (found->is_released) return "released before";
    return found->end > request.at ? std::string_view() : "lease had ended";
  }
  std::int64_t held(microseconds at) const {
    return std::ranges::count_if(
        leases_, [&](const Lease& lease) { return !lease.is_released && lease.end > at; });
  }
  /// The most slots that those may have who held then.
  std::int64_t slots(microseconds at) const {
    std::int64_t slots = 0;
    for (const auto& lease : leases_) {
      if (!lease.is_released && lease.end > at) slots += lease.slots;
    }
    return slots;
  }
  /// When the leases end that run.
  std::vector<microseconds> ends(microseconds at) const {
    std::vector<microseconds> ends;
    for (const auto& lease : leases_) {
      if (!lease.is_released && lease.end > at) ends.push_back(lease.end);
    }
    return ends;
  }
  /// What decides about scores to come.
  void append_key(std::string& key, microseconds at) const {
    for (const auto& lease : leases_) {
      const bool runs = !lease.is_released && lease.end > at;
      key += std::to_string(lease.holder) + (lease.is_released ? '-' : '+');
      if (runs) key += std::to_string(lease.end.count());
    }
  }

 private:
  struct Lease {
    std::uint32_t holder = 0;
    microseconds end{0};  ///< or the time of the release
    bool is_released = false;
    std::int64_t slots = 0;  ///< that the holder may have, who may have acquired several times
  };
  Lease* find(std::uint32_t holder) {
    const auto found = std::ranges::find(leases_, holder, &Lease::holder);
    return found == leases_.end() ? nullptr : &*found;
  }
  void release(const Request& request) {
    auto* lease = find(request.holder);
    if (lease == nullptr || lease->is_released) return;
    lease->end = std::min(lease->end, request.at);
    lease->is_released = true;
  }

  microseconds lease_;
  std::vector<Lease> leases_;
};

std::uint32_t last_holder(const Schedule& schedule) {
  std::uint32_t last = 0;
  for (const auto& request : schedule) last = std::max(last, request.holder);
  return last;
}

/// Numbers the holders in the order in which they come.
Schedule renumbered(Schedule schedule) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (auto& request : schedule) {
    const auto next = static_cast<std::uint32_t>(numbers.size() + 1);
    request.holder = numbers.try_emplace(request.holder, next).first->second;
  }
  return schedule;
}

/// Writes schedules, one event after another.
class Plot {
 public:
  explicit Plot(microseconds base) : at_(base) {}

  Plot& wait(microseconds time) {
    at_ += time;
    return *this;
  }
  Plot& acquire(std::int64_t count = 1) {
    for (std::int64_t i = 0; i < count; ++i) add(Event::kRequest, ++last_);
    return *this;
  }
  /// An event of each of these holders.
  Plot& each(Event event, std::uint32_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(event, first + static_cast<std::uint32_t>(i));
    return *this;
  }
  Plot& add(Event event, std::uint32_t holder) {
    last_ = std::max(last_, holder);
    schedule_.push_back({.at = at_, .event = event, .holder = holder});
    return *this;
  }
  std::uint32_t last() const { return last_; }
  Schedule schedule() const { return schedule_; }

 private:
  microseconds at_;
  std::uint32_t last_ = 0;
  Schedule schedule_;
};

/// What both searches have in common.
class LeaseSearch {
 public:
  LeaseSearch(Trial& trial, const LeaseSearchRequest& request, const Interrupt& interrupt)
      : trial_(trial), request_(request), interrupt_(interrupt) {
    set_ttls();
  }

  void random(const OnSearchProgress& on_progress) {
    std::vector<Schedule> batch;
    const auto send = [&] {
      std::vector<Schedule> probed;
      for (auto& schedule : std::exchange(batch, {})) {
        probed.push_back(with_probe(std::move(schedule), request_.limit, result_.settles));
      }
      const auto answers = run(probed);
      for (std::size_t i = 0; i < probed.size(); ++i) judge(probed[i], answers[i]);
      if (on_progress) on_progress(result_.requests_sent, request_.budget, result_.held);
    };
    const auto is_spent = [&] {
      return result_.requests_sent >= request_.budget || interrupt_.signal() != 0;
    };
    for (auto& schedule : known_schedules()) {
      batch.push_back(std::move(schedule));
      if (batch.size() < kAtOnce) continue;
      send();
      if (is_spent()) return;
    }
    traffic::Random random(request_.seed);
    while (!is_spent()) {
      do batch.push_back(random_schedule(random));
      while (batch.size() < kAtOnce);
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
  /// Whether the findings really have their answers.
  bool is_confirmed() {
    for (const auto* finding : {&result_.overfilled, &result_.leak}) {
      if (*finding && !trial_.confirms((*finding)->schedule, (*finding)->answers)) return false;
    }
    return true;
  }
  LeaseSearchResult& result() { return result_; }

 private:
  static constexpr std::size_t kAtOnce = 512;

  /// A schedule of an exhaustive search.
  struct Node {
    Schedule schedule = {};
    Answers answers = {};
    std::int64_t schedules = 1;  ///< how many have this state
    double share = 1;            ///< the part of all schedules that begin with this one
  };

  microseconds lease() const { return request_.limit.window; }
  microseconds whole(microseconds time) const { return time - time % request_.tick; }

  std::vector<Answers> run(std::span<const Schedule> schedules) {
    for (const auto& schedule : schedules) {
      result_.requests_sent += static_cast<std::int64_t>(schedule.size());
    }
    return trial_.run(schedules);
  }

  /// Learns how long keys live, and sets what follows: the critical times, and how long slots may
  /// stay taken.
  void set_ttls() {
    const auto full = Plot(request_.base).acquire(request_.limit.limit + 1);
    std::vector<microseconds> ttls;
    for (const auto& schedule :
         {Plot(request_.base).acquire(), full, Plot(full).each(Event::kRelease, 1, 1)}) {
      result_.requests_sent += static_cast<std::int64_t>(schedule.schedule().size());
      for (const auto ttl : trial_.ttls(schedule.schedule())) {
        if (ttl > 0us && ttl < kYear) ttls.push_back(ttl);
      }
    }
    auto longest = 2 * lease();
    for (const auto ttl : ttls) longest = std::max(longest, ttl);
    settle_after(longest);
    gaps_ = {0us, std::max<microseconds>(1ms, request_.tick), lease() / 2};
    edges_ = {-request_.tick, 0us, request_.tick};
    if (!ttls.empty()) edges_.insert(edges_.end(), {-kTtlMargin, kTtlMargin});
    ttls.push_back(lease());
    for (const auto ttl : ttls) {
      for (const auto edge : edges_) gaps_.push_back(std::max(0us, ttl + edge));
    }
    for (auto& gap : gaps_) gap = whole(gap);
    std::sort(gaps_.begin(), gaps_.end());
    gaps_.erase(std::unique(gaps_.begin(), gaps_.end()), gaps_.end());
  }
  /// Whole leases, since a key ends some time after its TTL.
  void settle_after(microseconds longest) {
    result_.settles = whole((longest / lease() + 1) * lease() + request_.tick - 1us);
  }

  void judge(const Schedule& schedule, const Answers& answers, std::int64_t schedules = 1) {
    if (answers.empty()) {
      result_.undecided += schedules;
      return;
    }
    const auto score = lease_score_of(schedule, answers, request_.limit, result_.settles);
    result_.held = std::max(result_.held, score.held);
    result_.leaked = std::max(result_.leaked, score.leaked);
    if (score.held > request_.limit.limit) {
      keep(result_.overfilled, schedule, answers, score.held_at);
    }
    if (score.leaked > 0) keep(result_.leak, schedule, answers, score.leaked_at);
  }
  void keep(std::optional<LeaseFinding>& known, const Schedule& schedule, const Answers& answers,
            std::size_t last) {
    if (known && known->schedule.size() <= last + 1) return;
    const auto end = static_cast<std::ptrdiff_t>(last + 1);
    known = {.schedule = {schedule.begin(), schedule.begin() + end},
             .answers = {answers.begin(), answers.begin() + end}};
    known->score = lease_score_of(known->schedule, known->answers, request_.limit, result_.settles);
  }

  // ---- Schedules ----

  /// Schedules under which limiters are known to fail.
  std::vector<Schedule> known_schedules() const {
    const auto limit = request_.limit.limit;
    const auto base = request_.base;
    std::vector<Schedule> all;
    const auto add = [&all](const Plot& plot) { all.push_back(plot.schedule()); };
    const auto full = Plot(base).acquire(limit);
    add(Plot(full).acquire());
    add(Plot(base)
            .acquire()
            .each(Event::kRelease, 1, 1)
            .each(Event::kRelease, 1, 1)
            .acquire(limit + 1));
    add(Plot(full)
            .each(Event::kRelease, 1, limit)
            .each(Event::kRelease, 1, limit)
            .acquire(2 * limit));
    add(Plot(base).add(Event::kRelease, 1).acquire(limit + 1));
    // Clients that release although they were denied.
    add(Plot(full)
            .acquire(limit)
            .each(Event::kRelease, static_cast<std::uint32_t>(limit) + 1, limit)
            .acquire(limit));
    add(Plot(base)
            .acquire()
            .each(Event::kRequest, 1, 1)
            .each(Event::kRelease, 1, 1)
            .acquire(limit));
    for (const auto gap : gaps_) {
      add(Plot(full).wait(gap).acquire(limit).each(Event::kRelease, 1, limit).acquire(limit));
      add(Plot(full).wait(gap).acquire(limit).each(Event::kRenew, 1, limit).acquire(limit));
      add(Plot(full).wait(gap).each(Event::kRelease, 1, limit).acquire(2 * limit));
      for (const auto later : gaps_) {
        add(Plot(base).acquire().wait(gap).acquire(limit).wait(later).acquire(limit));
        add(Plot(full).wait(gap).each(Event::kRenew, 1, limit).wait(later).acquire(limit));
        add(Plot(full).wait(gap).each(Event::kRequest, 1, limit).wait(later).acquire(limit));
      }
    }
    // One dies while others come and go.
    auto busy = Plot(base).acquire();
    for (microseconds passed{0}; passed < result_.settles + 2 * lease(); passed += lease() / 2) {
      busy.wait(whole(lease() / 2)).acquire().add(Event::kRelease, busy.last());
    }
    add(busy.acquire(limit));
    if (!request_.renews) {
      for (auto& schedule : all) {
        std::erase_if(schedule, [](const Request& each) { return each.event == Event::kRenew; });
      }
    }
    return all;
  }

  Schedule random_schedule(traffic::Random& random) const {
    constexpr std::int64_t kMost = 40;
    const auto below = [&](std::int64_t count) {
      return static_cast<std::int64_t>(random.uniform() * static_cast<double>(count));
    };
    const auto length = 2 + below(std::min(3 * request_.limit.limit + 6, kMost));
    Plot plot(request_.base);
    for (std::int64_t i = 0; i < length; ++i) {
      if (i > 0 && random.uniform() < 0.5) {
        plot.wait(gaps_[static_cast<std::size_t>(below(static_cast<std::int64_t>(gaps_.size())))]);
      }
      const auto kind = random.uniform();
      const auto known = static_cast<std::uint32_t>(1 + below(plot.last()));
      if (kind < 0.45 || plot.last() == 0) {
        plot.acquire();
      } else if (kind < 0.5) {
        plot.add(Event::kRelease, plot.last() + 1);
      } else if (kind < 0.85) {
        plot.add(Event::kRelease, known);
      } else {
        plot.add(request_.renews && kind < 0.95 ? Event::kRenew : Event::kRequest, known);
      }
    }
    return plot.schedule();
  }

  // ---- Exhaustive ----

  HeldLeases held_after(const Node& node) const {
    HeldLeases held(lease());
    for (std::size_t i = 0; i < node.schedule.size(); ++i) {
      held.add(node.schedule[i], node.answers[i]);
    }
    return held;
  }

  /// When the next event may come: the critical gaps after the last one, and around the ends of
  /// the leases that run.
  std::vector<microseconds> times_after(const Node& node) const {
    if (node.schedule.empty()) return {request_.base};
    const auto last = node.schedule.back().at;
    std::vector<microseconds> times;
    for (const auto gap : gaps_) times.push_back(last + gap);
    for (const auto end : held_after(node).ends(last)) {
      for (const auto edge : edges_) {
        if (end + edge >= last) times.push_back(request_.base + whole(end + edge - request_.base));
      }
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }

  /// Every event that may follow: of a new holder an acquire or a release, of each other one
  /// whatever there is.
  void add_children(const Node& node, std::vector<Node>& children) const {
    const auto known = last_holder(node.schedule);
    std::vector<Request> events{{.event = Event::kRequest, .holder = known + 1},
                                {.event = Event::kRelease, .holder = known + 1}};
    for (std::uint32_t holder = 1; holder <= known; ++holder) {
      events.push_back({.event = Event::kRequest, .holder = holder});
      events.push_back({.event = Event::kRelease, .holder = holder});
      if (request_.renews) events.push_back({.event = Event::kRenew, .holder = holder});
    }
    const auto times = times_after(node);
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
                   std::to_string(last_holder(child.schedule)) + '|';
        held_after(child).append_key(key, last);
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
      schedule = with_probe(std::move(schedule), request_.limit, result_.settles);
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
  bool take(LeaseFinding& finding, bool is_leak, std::vector<Schedule> candidates) {
    std::erase_if(candidates, [](const Schedule& schedule) { return schedule.empty(); });
    const auto answers = run(candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (answers[i].empty()) continue;
      const auto score = lease_score_of(candidates[i], answers[i], request_.limit, result_.settles);
      if (is_leak ? score.leaked == 0 : score.held <= request_.limit.limit) continue;
      std::optional<LeaseFinding> smaller;
      keep(smaller, candidates[i], answers[i], is_leak ? score.leaked_at : score.held_at);
      finding = *std::move(smaller);
      return true;
    }
    return false;
  }

  void shrink(LeaseFinding& finding, bool is_leak, const OnSent& on_sent) {
    const auto end = result_.requests_sent + request_.budget;
    const auto goes_on = [&] {
      if (on_sent) on_sent(result_.requests_sent);
      return result_.requests_sent < end && interrupt_.signal() == 0;
    };
    for (bool is_smaller = true; is_smaller && goes_on();) {
      is_smaller = take(finding, is_leak, without_some(finding.schedule));
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
    auto gaps = gaps_;
    for (int leases = 2; leases * lease() < gap && leases <= 8; ++leases) {
      gaps.push_back(leases * lease());
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

  bool is_for_ever(const LeaseFinding& leak) {
    auto schedule = leak.schedule;
    const auto last = schedule.back().at;
    // Those who ask for the slot.
    for (auto i = schedule.size(); i-- > 0;) {
      if (schedule[i].at != last || schedule[i].event != Event::kRequest) break;
      schedule[i].at += kYear;
    }
    const auto answers = run({&schedule, 1});
    return !answers.front().empty() &&
           lease_score_of(schedule, answers.front(), request_.limit, result_.settles).leaked > 0;
  }

  Trial& trial_;
  const LeaseSearchRequest& request_;
  const Interrupt& interrupt_;
  std::vector<microseconds> gaps_, edges_;  ///< critical gaps; moments around the end of a lease
  LeaseSearchResult result_;
};

/// Searches by `find`, once more if the findings do not have their answers after all.
template <typename Find>
LeaseSearchResult search_twice(Trial& trial, const LeaseSearchRequest& request,
                               const Interrupt& interrupt, const OnSent& on_sent,
                               const Find& find) {
  std::int64_t in_vain = 0;
  for (bool is_again = false;; is_again = true) {
    LeaseSearchResult result;
    LeaseSearch search(trial, request, interrupt);
    bool is_interrupted = false, is_confirmed = true;
    try {
      find(search);
      search.shrink_all(on_sent);
      is_confirmed = is_again || search.is_confirmed();
    } catch (const Interrupted&) {
      is_interrupted = true;
    }
    result = std::move(search.result());
    result.interrupted = is_interrupted || interrupt.signal() != 0;
    result.requests_sent += in_vain;
    if (is_confirmed || result.interrupted) return result;
    in_vain = result.requests_sent;
  }
}

}  // namespace

LeaseScore lease_score_of(const Schedule& schedule, const Answers& answers,
                          const limiter::Limit& limit, microseconds settles) {
  LeaseScore score;
  HeldLeases held(limit.window);
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto& request = schedule[i];
    held.add(request, answers[i]);
    if (const auto now = held.held(request.at); now > score.held) {
      score.held = now;
      score.held_at = i;
    }
    const bool is_denial = request.event == Event::kRequest && !answers[i].allowed;
    if (!is_denial || held.holds(request.holder, request.at)) continue;
    // Those whose lease has ended since then count, too.
    const auto leaked = limit.limit - held.slots(request.at - settles);
    if (leaked <= score.leaked) continue;
    if (score.leaked == 0) score.leaked_at = i;
    score.leaked = leaked;
  }
  return score;
}

std::vector<LeaseStep> lease_steps_of(const Schedule& schedule, const Answers& answers,
                                      const limiter::Limit& limit) {
  std::vector<LeaseStep> steps;
  HeldLeases held(limit.window);
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto note = held.note_on(schedule[i]);
    held.add(schedule[i], answers[i]);
    steps.push_back({.held = held.held(schedule[i].at), .note = note});
  }
  return steps;
}

Schedule with_probe(Schedule schedule, const limiter::Limit& limit, microseconds settles) {
  if (schedule.empty()) return schedule;
  const auto at = schedule.back().at + limit.window + settles;
  const auto last = last_holder(schedule);
  for (std::int64_t i = 1; i <= limit.limit; ++i) {
    schedule.push_back({.at = at, .holder = last + static_cast<std::uint32_t>(i)});
  }
  return schedule;
}

microseconds latest_time(const LeaseSearchRequest& request, std::optional<int> events) {
  constexpr int kEventsOfRandom = 50;
  // TTLs that are longer than this are left out.
  return (events.value_or(kEventsOfRandom) + 4) * (request.limit.window + kTtlMargin) + 2 * kYear;
}

LeaseSearchResult search_leases(Trial& trial, const LeaseSearchRequest& request,
                                const Interrupt& interrupt, const OnSearchProgress& on_progress) {
  constexpr std::int64_t kMinProbes = 50;
  if (request.budget / kMinProbes < request.limit.limit) {
    throw UsageError(fmt::format(
        "a budget of {} events is too small for {} leases: give at least {}, or search with fewer "
        "leases, which show the same flaws",
        request.budget, request.limit.limit, kMinProbes * request.limit.limit));
  }
  const auto on_sent = [&](std::int64_t sent) {
    if (on_progress) on_progress(sent, request.budget, request.limit.limit);
  };
  return search_twice(trial, request, interrupt, on_sent,
                      [&](LeaseSearch& search) { search.random(on_progress); });
}

LeaseSearchResult search_all_leases(Trial& trial, const LeaseSearchRequest& request, int events,
                                    const Interrupt& interrupt,
                                    const OnExhaustiveProgress& on_progress) {
  return search_twice(trial, request, interrupt, {},
                      [&](LeaseSearch& search) { search.exhaust(events, on_progress); });
}

std::vector<Answers> LeaseModelTrial::run(std::span<const Schedule> schedules) {
  std::vector<Answers> answers(schedules.size());
  contents_.assign(schedules.size(), {});
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    limiter::LeaseModel model;
    for (const auto& request : schedules[i]) {
      const auto decision =
          traffic::decide(model, limit_, request.event, request.holder, request.at);
      answers[i].push_back({.allowed = decision.allowed, .retry_after = decision.retry_after});
    }
    for (const auto& [holder, lapse] : model.lapses()) {
      if (lapse <= schedules[i].back().at) continue;
      contents_[i] += holder + '=' + std::to_string(lapse.count()) + ' ';
    }
  }
  return answers;
}

}  // namespace rlctl::adversary
