#include "simulation/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>

#include "base/number.h"
#include "script/reply.h"

namespace rlctl::simulation {

using limiter::Decision;

namespace {

constexpr microseconds kMinute{60'000'000};

void keep_worse(std::optional<Minute>& worst, const Minute& minute) {
  const auto denied = worst ? worst->denied : 0;
  if (minute.denied > denied) worst = minute;
}

}  // namespace

void DelayedRequests::push(microseconds at, std::int64_t cost) {
  units_ += cost;
  last_ = std::max(last_, at);
  requests_.push({at, cost});
}

std::optional<DelayedRequest> DelayedRequests::pop_until(microseconds at) {
  if (empty() || requests_.top().at > at) return std::nullopt;
  const auto earliest = requests_.top();
  requests_.pop();
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
  if (calendar_ != nullptr || at - last_edge_ >= window_) {
    const auto edge = calendar_ != nullptr ? calendar_->period_at(at).start : at - at % window_;
    if (edge != last_edge_) since_edge_ = 0;
    last_edge_ = edge;
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
      const auto& limit = limits_[windows_.size() % limits_.size()];
      windows_.emplace_back(limit.window, limit.calendar);
    }
  }
  Key& found = keys_[number];
  if (!found.is_requested) ++measured_.keys;
  found.is_requested = true;
  return found;
}

/// Notes a key's first denial if its units and those allowed before are within every limit.
void Measurement::note_early_denial(std::int64_t allowed, std::int64_t cost) {
  const bool is_within = std::all_of(limits_.begin(), limits_.end(), [&](const auto& limit) {
    return allowed + cost <= std::min(limit.limit, limit.burst_or_limit());
  });
  if (!is_within) return;
  measured_.denied_after = std::min(measured_.denied_after.value_or(allowed), allowed);
}

void Measurement::add(const traffic::Arrival& arrival, const Decision& decision) {
  Key& own = key(arrival.key);
  ++measured_.sent;
  count_minute(arrival.at, decision.allowed);
  if (!delayed_.empty()) count_proceeded(arrival);
  if (decision.allowed) {
    ++measured_.allowed;
    if (own.denied == 0) own.units_before_denial += arrival.cost;
    measured_.longest_delay = std::max(measured_.longest_delay, decision.delay);
    if (own.denials) end_denials(own, arrival);
    if (decision.delay.count() == 0) {
      allow(arrival.key, {arrival.at, arrival.cost});
    } else {
      delayed_[arrival.key].push(arrival.at + decision.delay, arrival.cost);
    }
  } else {
    if (own.denied == 0) note_early_denial(own.units_before_denial, arrival.cost);
    deny(own, arrival, decision);
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
  if (departures_ != nullptr) departures_->add(request.at, true, request.cost);
}

/// Counts the delayed requests that have proceeded, in the order in which they do, which differs
/// from their arrival order. No later request proceeds before this one arrives.
void Measurement::count_proceeded(const traffic::Arrival& arrival) {
  const auto found = delayed_.find(arrival.key);
  if (found == delayed_.end()) return;
  while (const auto request = found->second.pop_until(arrival.at)) allow(arrival.key, *request);
}

/// Compares what the decision reports with the allowed units.
void Measurement::compare(const traffic::Arrival& arrival, const Decision& decision) {
  auto left = std::numeric_limits<std::int64_t>::max();
  auto empty_at = arrival.at;
  const bool is_up_to_date = decision.allowed && decision.delay.count() == 0;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    auto& window = windows_[arrival.key * limits_.size() + i];
    if (!is_up_to_date) window.forget_before(arrival.at);
    left = std::min(left, limits_[i].limit - window.in_window());
    empty_at = std::max(empty_at, window.empty_at());
  }
  const auto delayed = delayed_.find(arrival.key);
  if (delayed != delayed_.end() && !delayed->second.empty()) {
    left -= delayed->second.units();
    for (const auto& limit : limits_) {
      empty_at = std::max(empty_at, delayed->second.last() + limit.window);
    }
  }
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

void Measurement::deny(Key& key, const traffic::Arrival& arrival, const Decision& decision) {
  if (!measured_.first_denial) measured_.first_denial = arrival.at;
  ++measured_.denied;
  // 0: a foreign script does not tell.
  const auto limit = static_cast<std::size_t>(decision.denied_by) - 1;
  if (limit < limits_.size()) ++measured_.denied_by_limit[limit];
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

void Measurement::end_denials(Key& key, const traffic::Arrival& allowed) {
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

/// The measurement after all delayed requests have proceeded.
Measurement Measurement::after_all_departures() const {
  auto later = *this;
  later.departures_ = nullptr;
  for (auto& [key, requests] : later.delayed_) {
    while (const auto request = requests.pop_until(microseconds::max())) later.allow(key, *request);
  }
  return later;
}

Worst Measurement::worst_of(std::size_t key) const {
  Worst worst;
  for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
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
  return worst;
}

std::vector<KeyWorst> Measurement::worst_keys() const {
  const auto is_worse = [](const KeyWorst& one, const KeyWorst& other) {
    const auto rank = [](const Worst& worst) {
      return std::tuple(-worst.ratio, worst.limit, worst.key);
    };
    return rank(one.worst) < rank(other.worst);
  };
  std::vector<KeyWorst> worst;  // a heap, with the least bad on top
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    const KeyWorst one{.worst = worst_of(key), .denied = keys_[key].denied};
    const bool is_full = worst.size() == Measured::kWorstKeys;
    if (one.worst.allowed == 0 || (is_full && !is_worse(one, worst.front()))) continue;
    if (is_full) {
      std::pop_heap(worst.begin(), worst.end(), is_worse);
      worst.pop_back();
    }
    worst.push_back(one);
    std::push_heap(worst.begin(), worst.end(), is_worse);
  }
  std::sort_heap(worst.begin(), worst.end(), is_worse);
  return worst;
}

Measured Measurement::result() const {
  Measured result = measured_;
  result.worst_keys = delayed_.empty() ? worst_keys() : after_all_departures().worst_keys();
  if (!result.worst_keys.empty()) result.worst = result.worst_keys.front().worst;
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

std::vector<DelayedRequest> Measurement::take_delayed() {
  std::vector<DelayedRequest> taken;
  for (auto& [key, requests] : delayed_) {
    while (const auto request = requests.pop_until(microseconds::max())) taken.push_back(*request);
  }
  return taken;
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

namespace {

/// The widths of a timeline's bins.
constexpr std::array<microseconds, 31> kWidths = [] {
  using namespace std::chrono_literals;
  using std::chrono::days;
  return std::array<microseconds, 31>{
      1us,     2us,     10us,     20us,     100us,     200us,     1ms,       2ms,
      10ms,    20ms,    100ms,    200ms,    1s,        2s,        10s,       20s,
      1min,    2min,    10min,    20min,    1h,        2h,        6h,        12h,
      days{1}, days{2}, days{10}, days{20}, days{100}, days{200}, days{1000}};
}();

void add_to(Timeline::Bin& bin, const Timeline::Bin& more) {
  bin.allowed += more.allowed;
  bin.denied += more.denied;
}

}  // namespace

void RepliesSeen::OtherReading::add(const traffic::Arrival& arrival, bool allowed) {
  constexpr std::size_t kMostKeys = 10'000;
  if (!is_possible_ || arrival.cost < 0) return;
  if (keys_.size() == kMostKeys && !keys_.contains(arrival.key)) return;
  auto& key = keys_[arrival.key];
  if (key.cost == 0 || arrival.index_within_key == 1)
    key = {.begin = arrival.at, .cost = arrival.cost};
  if (key.is_denied) return;
  if (!allowed && key.units == 0) {  // fits() is false from now on
    is_possible_ = false;
    return keys_.clear();
  }
  key.units += arrival.cost;
  key.is_denied = !allowed;
  if (allowed || arrival.cost != key.cost) return;
  const auto after = arrival.at - key.begin;
  soonest_ = fewest_ == 0 ? after : std::min(soonest_, after);
  fewest_ = fewest_ == 0 ? key.units : std::min(fewest_, key.units);
}

bool RepliesSeen::OtherReading::fits(const limiter::Limit& limit) const {
  constexpr int kTooMany = 3;
  const auto at_once = std::min(limit.limit, limit.burst_or_limit());
  return is_possible_ && fewest_ > at_once && fewest_ / kTooMany <= at_once &&
         soonest_ < limit.window;
}

void RepliesSeen::add(redis::ReplyView reply, const traffic::Arrival& arrival, bool allowed,
                      const limiter::Limit* limit) {
  ++replies;
  all_nil = all_nil && reply.is_nil();
  as_read.add(arrival, allowed);
  inverted.add(arrival, !allowed);
  if (replies == 1 && limit != nullptr) add_others(reply);
  std::erase_if(others, [&](auto& other) {
    try {
      other.second.add(arrival, other.first.holds(reply, {.limit = *limit}));
      return !other.second.is_possible() || as_read.fits(*limit);
    } catch (const lua::ExpressionError&) {
      return true;
    }
  });
  if (first.size() < kMax) first.push_back(script::reply_text(reply));
}

void RepliesSeen::add_others(redis::ReplyView reply) {
  constexpr std::size_t kMaxElements = 8;
  const auto add = [&](const std::string& text) {
    others.emplace_back(script::ReplyExpression(text), OtherReading());
  };
  const auto [subject, value] = script::verdict_of(reply);
  if (!value.empty()) add(fmt::format("{} == {}", subject, value));
  if (!value.empty() && is_digit(value[0])) {
    add(fmt::format("{} >= 0", subject));
    // A count of what came before is 0 at first.
    add(fmt::format("{} {} limit", subject, value == "0" ? "<" : "<="));
  }
  for (std::size_t i = 1; i < std::min(reply.size(), kMaxElements); ++i) {
    if (reply[i].integer() == 1) add(fmt::format("r[{}] == 1", i + 1));
  }
}

/// The last multiple of the width at or before a time.
microseconds Timeline::bin_before(microseconds at) const {
  const auto past = (at - zero()) % width_;
  return at - past - (past.count() < 0 ? width_ : microseconds{0});
}

/// Merges neighbours.
void Timeline::widen() {
  const auto old_first = first_, old_width = width_;
  width_ = kWidths.at(++widened_);
  first_ = bin_before(old_first);
  std::size_t last = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Bin bin = std::exchange(bins_[i], {});
    const auto at = old_first + old_width * static_cast<std::int64_t>(i);
    last = static_cast<std::size_t>((at - first_) / width_);
    add_to(bins_[last], bin);
  }
  bins_.resize(last + 1);
}

void Timeline::begin_at(microseconds at) {
  begin_ = end_ = at;
  first_ = bin_before(at);
  bins_.resize(1);
}

void Timeline::add(microseconds at, bool allowed, std::int64_t count) {
  if (bins_.empty()) begin_at(at);
  end_ = std::max(end_, at);
  auto index = static_cast<std::size_t>((at - first_) / width_);
  while (index >= kMax) {
    widen();
    index = static_cast<std::size_t>((at - first_) / width_);
  }
  if (index >= bins_.size()) bins_.resize(index + 1);
  (allowed ? bins_[index].allowed : bins_[index].denied) += count;
}

std::vector<Timeline::Bin> Timeline::columns(microseconds from, microseconds width,
                                             std::size_t count) const {
  std::vector<Bin> result(count);
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const auto at = first_ + width_ * static_cast<std::int64_t>(i);
    if (at < from) continue;
    const auto column = static_cast<std::size_t>((at - from) / width);
    if (column >= count) break;
    add_to(result[column], bins_[i]);
  }
  return result;
}

Outcome OutcomeRecorder::finish(bool waits) {
  Outcome outcome{.measured = measurement_.result(),
                  .top_denied = measurement_.most_denied(kTopDenied),
                  .timeline = std::move(timeline_)};
  for (const auto& [at, units] : measurement_.take_delayed()) {
    if (waits || at <= outcome.timeline.end()) {
      departures_.add(at, true, units);
    } else {
      outcome.later.at = std::max(outcome.later.at, at);
      outcome.later.cost += units;
    }
  }
  outcome.departures = std::move(departures_);
  return outcome;
}

}  // namespace rlctl::simulation
