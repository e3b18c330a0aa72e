#include "cli/trial/events.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace rlctl::cli::trial {

using std::chrono::microseconds;

void EventRecorder::add(const traffic::Arrival& arrival, const limiter::Decision& decision) {
  ++seen_;
  if (all_.size() == kMostHeld) return;
  all_.push_back({.at = arrival.at,
                  .wait = decision.allowed ? decision.delay : decision.retry_after,
                  .remaining = decision.remaining,
                  .cost = arrival.cost,
                  .number = seen_,
                  .key = arrival.key,
                  .denied_by = decision.denied_by,
                  .allowed = decision.allowed});
}

/// Sets `whole`, `from` and `to`; the keys in `whole` are those of the traffic.
void EventRecorder::choose(Events& chosen, const traffic::Outcome& outcome,
                           microseconds window) const {
  const auto& worst = outcome.measured.worst;
  std::unordered_map<std::uint32_t, std::size_t> requests;
  for (const auto& event : all_) ++requests[event.key];
  std::vector<std::uint32_t> keys{worst.key};
  for (const auto& denied : outcome.top_denied) keys.push_back(denied.key);
  std::size_t taken = 0;
  const bool has_all = all_.size() == seen_;
  for (const auto key : keys) {
    const bool is_new =
        std::find(chosen.whole.begin(), chosen.whole.end(), key) == chosen.whole.end();
    if (!has_all || !is_new || taken + requests[key] > Events::kMost) continue;
    chosen.whole.push_back(key);
    taken += requests[key];
  }
  if (worst.allowed == 0) return;
  // The window before and after, or if these have too many requests, the worst window alone.
  for (const auto margin : {window, microseconds{0}}) {
    const auto from = worst.from - margin, to = worst.from + worst.span + margin;
    const auto count = std::count_if(all_.begin(), all_.end(), [&](const Event& event) {
      return event.at >= from && event.at <= to;
    });
    if (taken + static_cast<std::size_t>(count) > Events::kMost) continue;
    // What comes after the last request held is not known.
    if (!has_all && to > all_.back().at) continue;
    chosen.from = from;
    chosen.to = to;
    return;
  }
}

Events EventRecorder::finish(const traffic::Traffic& traffic, const traffic::Outcome& outcome,
                             microseconds window) {
  Events events{.is_complete = seen_ <= Events::kMost};
  if (!events.is_complete) choose(events, outcome, window);
  const std::unordered_set<std::uint32_t> whole(events.whole.begin(), events.whole.end());
  std::unordered_map<std::uint32_t, std::uint32_t> names;
  const auto index_of = [&](std::uint32_t key) {
    const auto [row, is_new] = names.emplace(key, static_cast<std::uint32_t>(events.keys.size()));
    if (is_new) events.keys.emplace_back(traffic.key_name(key));
    return row->second;
  };
  // The first names are those of the keys that matter most.
  if (outcome.measured.worst.allowed > 0) index_of(outcome.measured.worst.key);
  for (auto& key : events.whole) key = index_of(key);
  for (const auto& event : all_) {
    const bool is_near = event.at >= events.from && event.at <= events.to;
    if (!events.is_complete && !is_near && !whole.contains(event.key)) continue;
    events.single.push_back(event);
    events.single.back().key = index_of(event.key);
  }
  all_ = {};
  return events;
}

}  // namespace rlctl::cli::trial
