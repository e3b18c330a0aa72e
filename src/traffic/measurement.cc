#include "traffic/measurement.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace rlctl::traffic {

using limiter::Decision;

namespace {

constexpr microseconds kMinute{60'000'000};

void keep_worse(std::optional<Minute>& worst, const Minute& minute) {
  const auto denied = worst ? worst->denied : 0;
  if (minute.denied > denied) worst = minute;
}

/// For heaps with the earliest on top.
constexpr auto kIsLater = [](const auto& one, const auto& other) { return one.at > other.at; };

}  // namespace

void DelayedRequests::push(microseconds at, std::int64_t cost) {
  units_ += cost;
  last_ = std::max(last_, at);
  requests_.push_back({at, cost});
  std::push_heap(requests_.begin(), requests_.end(), kIsLater);
}

std::optional<DelayedRequest> DelayedRequests::pop_until(microseconds at) {
  if (empty() || requests_.front().at > at) return std::nullopt;
  std::pop_heap(requests_.begin(), requests_.end(), kIsLater);
  const auto earliest = requests_.back();
  requests_.pop_back();
  units_ -= earliest.cost;
  return earliest;
}

/// Never moves more units than it has dropped, so that each unit is moved once on average.
void WorstWindow::forget_before(microseconds at) {
  while (first_ < recent_.size() && at - recent_[first_].at >= window_) {
    in_window_ -= recent_[first_++].count;
  }
  if (first_ == recent_.size()) {
    recent_.clear();
    first_ = 0;
  } else if (recent_.size() == recent_.capacity() && first_ >= recent_.size() / 2) {
    recent_.erase(recent_.begin(), std::next(recent_.begin(), static_cast<std::ptrdiff_t>(first_)));
    first_ = 0;
  }
}

void WorstWindow::allow(microseconds at, std::int64_t cost) {
  forget_before(at);
  if (!recent_.empty() && recent_.back().at == at) {
    recent_.back().count += cost;
  } else {
    recent_.push_back({at, cost});
  }
  in_window_ += cost;
  if (at - last_edge_ >= window_) {
    last_edge_ = at - at % window_;
    since_edge_ = 0;
  }
  since_edge_ += cost;
  if (in_window_ <= most_) return;
  most_ = in_window_;
  from_ = recent_[first_].at;
  span_ = at - from_;
  edge_ = last_edge_;
  after_edge_ = since_edge_;
}

void WorstWindow::refund(microseconds at, std::int64_t units) {
  forget_before(at);
  while (units > 0 && first_ < recent_.size()) {
    const auto back = std::min(units, recent_[first_].count);
    recent_[first_].count -= back;
    in_window_ -= back;
    units -= back;
    if (recent_[first_].count == 0) ++first_;
  }
}

Measurement::Key& Measurement::key(std::uint32_t number) {
  if (number >= keys_.size()) {
    keys_.resize(number + std::size_t{1});
    while (windows_.size() < keys_.size() * limits_.size()) {
      windows_.emplace_back(limits_[windows_.size() % limits_.size()].window);
    }
  }
  Key& found = keys_[number];
  if (!found.asked) ++measured_.keys;
  found.asked = true;
  return found;
}

void Measurement::add(const Arrival& arrival, const Decision& decision) {
  Key& asked = key(arrival.key);
  ++measured_.sent;
  count_minute(arrival.at, decision.allowed);
  if (!delayed_.empty()) count_proceeded(arrival);
  if (decision.allowed) {
    ++measured_.allowed;
    measured_.longest_delay = std::max(measured_.longest_delay, decision.delay);
    if (first_denied_) watch_inversion(arrival);
    if (asked.denials) end_denials(asked, arrival);
    depart(arrival, decision.delay);
  } else {
    if (measured_.sent == 1) first_denied_ = arrival;
    deny(asked, arrival, decision);
  }
  const bool reports =
      decision.remaining != limiter::kNotTold || decision.reset_after != limiter::kTimeNotTold;
  if (compares_reports_ && reports) compare(arrival, decision);
}

void Measurement::allow(std::uint32_t key, const DelayedRequest& request) {
  const auto first = key * limits_.size();
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    windows_[first + i].allow(request.at, request.cost);
  }
}

/// Counts the delayed requests that have proceeded, in the order in which they do, which differs
/// from their arrival order. No later request proceeds before this one arrives.
void Measurement::count_proceeded(const Arrival& arrival) {
  const auto found = delayed_.find(arrival.key);
  if (found == delayed_.end()) return;
  while (const auto request = found->second.pop_until(arrival.at)) allow(arrival.key, *request);
}

void Measurement::depart(const Arrival& arrival, microseconds delay) {
  if (delay.count() == 0) return allow(arrival.key, {arrival.at, arrival.cost});
  delayed_[arrival.key].push(arrival.at + delay, arrival.cost);
}

/// Compares what the decision reports with the allowed units.
void Measurement::compare(const Arrival& arrival, const Decision& decision) {
  auto left = std::numeric_limits<std::int64_t>::max();
  auto empty_at = arrival.at;
  const bool is_up_to_date = decision.allowed && decision.delay.count() == 0;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    auto& window = windows_[arrival.key * limits_.size() + i];
    if (!is_up_to_date) window.forget_before(arrival.at);
    left = std::min(left, limits_[i].limit - window.in_window());
    empty_at = std::max(empty_at, window.empty_at());
  }
  if (!delayed_.empty()) count_delayed(arrival, left, empty_at);
  if (decision.remaining != limiter::kNotTold) {
    auto& [compared, too_many, too_few] = measured_.remaining_error;
    const auto more = decision.remaining - std::max<std::int64_t>(left, 0);
    ++compared;
    too_many = std::max(too_many, more);
    too_few = std::max(too_few, -more);
  }
  if (decision.reset_after != limiter::kTimeNotTold) {
    auto& [compared, too_early, too_late] = measured_.reset_error;
    const auto later = arrival.at + decision.reset_after - empty_at;
    ++compared;
    too_early = std::max(too_early, -later);
    too_late = std::max(too_late, later);
  }
}

/// Adds the requests that have not proceeded yet to what compare() found.
void Measurement::count_delayed(const Arrival& arrival, std::int64_t& left,
                                microseconds& empty_at) const {
  const auto found = delayed_.find(arrival.key);
  if (found == delayed_.end() || found->second.empty()) return;
  left -= found->second.units();
  for (const auto& limit : limits_) {
    empty_at = std::max(empty_at, found->second.last() + limit.window);
  }
}

void Measurement::deny(Key& key, const Arrival& arrival, const Decision& decision) {
  if (!measured_.first_denial) measured_.first_denial = arrival.at;
  ++measured_.denied;
  if (key.denied++ == 0) ++measured_.keys_denied;
  if (!key.denials) key.denials = Denials{.first = arrival.at, .cost = arrival.cost};

  Denials& denials = *key.denials;
  denials.last = arrival.at;
  if (arrival.cost != denials.cost) return;
  auto& earliest = denials.earliest_promise;
  auto& latest = denials.latest_promise;
  if (earliest && arrival.at >= *earliest) {
    denials.broken = true;
    auto& too_early = measured_.retry_error.too_early;
    too_early = std::max(too_early, arrival.at - *earliest);
  }
  denials.never |= decision.retry_after == limiter::kNever;
  if (decision.retry_after < microseconds{0}) return;  // kNever or kTimeNotTold
  const auto promise = arrival.at + decision.retry_after;
  earliest = earliest ? std::min(*earliest, promise) : promise;
  latest = latest ? std::max(*latest, promise) : promise;
}

void Measurement::end_denials(Key& key, const Arrival& allowed) {
  Denials& denials = *key.denials;
  auto& longest = measured_.longest_shut_out;
  longest = std::max(longest, allowed.at - denials.first);

  RetryError& error = measured_.retry_error;
  const bool is_like_denied = allowed.cost == denials.cost;
  const bool comparable = is_like_denied && denials.latest_promise;
  if (is_like_denied && denials.never) denials.broken = true;
  if (comparable && allowed.at < *denials.latest_promise) {
    denials.broken = true;
    error.too_late = std::max(error.too_late, *denials.latest_promise - allowed.at);
  }
  if (comparable || denials.broken) ++error.compared;
  if (denials.broken) ++error.broken;
  key.denials.reset();
}

void Measurement::count_minute(microseconds at, bool allowed) {
  // Avoids a division for each request.
  if (at < minute_.from || at >= minute_.from + kMinute) {
    keep_worse(measured_.worst_minute, minute_);
    minute_ = {.from = at / kMinute * kMinute};
  }
  ++minute_.sent;
  if (!allowed) ++minute_.denied;
}

/// Of an allowed request.
void Measurement::watch_inversion(const Arrival& arrival) {
  const auto& [at, key, cost] = *first_denied_;
  measured_.looks_inverted |=
      arrival.key == key && arrival.cost == cost && arrival.at - at < limits_.front().window;
}

/// The measurement after all delayed requests have proceeded.
Measurement Measurement::after_all_departures() const {
  auto later = *this;
  for (auto& [key, requests] : later.delayed_) {
    while (const auto request = requests.pop_until(microseconds::max())) later.allow(key, *request);
  }
  return later;
}

Worst Measurement::worst() const {
  Worst worst;
  for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
    for (std::size_t key = 0; key < keys_.size(); ++key) {
      const WorstWindow& window = windows_[key * limits_.size() + limit];
      const auto ratio =
          static_cast<double>(window.allowed()) / static_cast<double>(limits_[limit].limit);
      if (ratio <= worst.ratio) continue;
      worst = {.allowed = window.allowed(),
               .ratio = ratio,
               .limit = limit,
               .key = static_cast<std::uint32_t>(key),
               .from = window.from(),
               .span = window.span(),
               .edge = window.edge(),
               .after_edge = window.after_edge()};
    }
  }
  return worst;
}

Measured Measurement::result() const {
  Measured result = measured_;
  result.worst = delayed_.empty() ? worst() : after_all_departures().worst();
  keep_worse(result.worst_minute, minute_);
  for (const Key& key : keys_) {
    if (!key.denials) continue;
    result.longest_shut_out =
        std::max(result.longest_shut_out, key.denials->last - key.denials->first);
    if (!key.denials->broken) continue;
    ++result.retry_error.compared;
    ++result.retry_error.broken;
  }
  return result;
}

std::vector<KeyDenied> Measurement::most_denied(std::size_t count) const {
  std::vector<KeyDenied> denied;
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    if (keys_[key].denied > 0)
      denied.push_back({static_cast<std::uint32_t>(key), keys_[key].denied});
  }
  count = std::min(count, denied.size());
  const auto end = denied.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(denied.begin(), end, denied.end(), [](const auto& one, const auto& other) {
    return one.denied != other.denied ? one.denied > other.denied : one.key < other.key;
  });
  denied.resize(count);
  return denied;
}

}  // namespace rlctl::traffic
