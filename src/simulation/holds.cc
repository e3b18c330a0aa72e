#include "simulation/holds.h"

#include <algorithm>

namespace rlctl::simulation {

// ---- Units by the times at which they end ----

void UnitsByEnd::add(microseconds end, std::int64_t units) {
  if (end <= now_) return;
  ends_.emplace(end, units);
  sum_ += units;
}

void UnitsByEnd::remove(microseconds end, std::int64_t units) {
  const auto found = ends_.find({end, units});
  if (found == ends_.end()) return;
  sum_ -= units;
  ends_.erase(found);
}

void UnitsByEnd::advance(microseconds now) {
  now_ = now;
  while (!ends_.empty() && ends_.begin()->first <= now) {
    sum_ -= ends_.begin()->second;
    ends_.erase(ends_.begin());
  }
}

// ---- Events ----

void Holds::advance(microseconds now) {
  now_ = now;
  held_.advance(now);
  counted_.advance(now);
  recent_.advance(now);
  if (rules_.has_leases) return;
  for (auto& window : windows_) {
    if (now >= window.end) window.spent = 0;
  }
  // The other windows begin with events.
  auto& of_clock = windows_[kOfClock];
  if (now < of_clock.end) return;
  const auto period = limiter::period_of(rules_.limit, now);
  of_clock.begin = period.start;
  of_clock.end = period.end;
}

bool Holds::add(const traffic::Arrival& event, bool allowed) {
  advance(event.at);
  if (event.event == traffic::Event::kRelease) release(event.holder);
  if (!allowed) return false;
  switch (event.event) {
    case traffic::Event::kRequest:
      return acquire(event.holder);
    case traffic::Event::kRenew:
      return renew(event.holder);
    case traffic::Event::kRelease:
      return false;
    case traffic::Event::kReserve:
      return reserve(event);
    case traffic::Event::kSettle:
      settle(event);
  }
  return false;
}

bool Holds::acquire(std::uint32_t holder) {
  const auto [found, is_new] = holds_.try_emplace(holder);
  auto& hold = found->second;
  if (!is_new) remove(hold);
  const bool had_lease = !is_new && !hold.is_given_back && hold.end > now_;
  hold.most_units = had_lease ? hold.most_units + 1 : 1;
  prolong_lease(hold);
  return true;
}

bool Holds::renew(std::uint32_t holder) {
  auto* hold = mutable_hold(holder);
  if (hold == nullptr || hold->is_given_back) return false;
  remove(*hold);
  if (hold->end <= now_) hold->most_units = 1;
  prolong_lease(*hold);
  return true;
}

void Holds::prolong_lease(Hold& hold) {
  hold.end = std::max(hold.end, now_ + rules_.limit.window);
  hold.latest_end = hold.forgotten = hold.end;
  hold.is_given_back = false;
  enter(hold);
}

void Holds::release(std::uint32_t holder) {
  auto* hold = mutable_hold(holder);
  if (hold == nullptr || hold->is_given_back) return;
  remove(*hold);
  hold->end = hold->latest_end = hold->forgotten = std::min(hold->end, now_);
  hold->is_given_back = true;
}

bool Holds::reserve(const traffic::Arrival& event) {
  begin_window(kFromFirst);
  const auto [found, is_new] = holds_.try_emplace(event.holder);
  auto& hold = found->second;
  const bool may_be_known = !is_new && (!rules_.is_budget || now_ < hold.forgotten);
  if (may_be_known && rules_.is_budget) return false;  // it changes nothing
  if (may_be_known) {
    remove(hold);
    hold.latest_end = std::max(hold.latest_end, now_ + event.hold);
    hold.may_be_held_again = hold.is_given_back;
    enter(hold);
    return false;
  }
  if (!is_new) remove(hold);
  const auto end = now_ + event.hold;
  hold = {.units = event.cost,
          .most_units = event.cost,
          .end = end,
          .latest_end = end,
          .forgotten = end + event.hold};
  enter(hold);
  return true;
}

void Holds::settle(const traffic::Arrival& event) {
  begin_window(kFromFirst);
  begin_window(kFromSettle);
  auto* hold = mutable_hold(event.holder);
  if (hold == nullptr || (hold->is_given_back && !hold->may_be_held_again)) return;
  const bool is_first = !hold->is_given_back && is_certain(*hold);
  remove(*hold);
  hold->is_given_back = true;
  hold->may_be_held_again = false;
  spend(event.actual, is_first);
}

void Holds::spend(std::int64_t units, bool is_certain) {
  if (!rules_.is_budget) recent_.add(now_ + rules_.limit.window + rules_.late, units);
  if (!is_certain) return;
  if (units > 0) begin_window(kFromSpent);
  for (auto& window : windows_) {
    // Only windows of the clock begin at a time that a coarse clock may see otherwise.
    const bool is_in_window = &window != &windows_[kOfClock] || now_ - window.begin >= rules_.early;
    if (is_in_window) window.spent += units;
  }
}

void Holds::begin_window(WindowKind kind) {
  auto& window = windows_[kind];
  if (now_ >= window.end) window = {.begin = now_, .end = now_ + rules_.limit.window};
}

void Holds::die(std::uint32_t holder) {
  const auto* hold = find(holder);
  if (hold == nullptr || !rules_.has_leases) return;
  remove(*hold);
  counted_.add(hold->latest_end + rules_.late, hold->most_units);
  holds_.erase(holder);
}

void Holds::enter(const Hold& hold) {
  if (!hold.is_given_back) {
    held_.add(hold.end - rules_.early, hold.units);
    working_ += hold.units;
  }
  if (!hold.is_given_back || hold.may_be_held_again) {
    counted_.add(counted_until(hold), hold.most_units);
  }
}

void Holds::remove(const Hold& hold) {
  if (!hold.is_given_back) {
    held_.remove(hold.end - rules_.early, hold.units);
    working_ -= hold.units;
  }
  if (!hold.is_given_back || hold.may_be_held_again) {
    counted_.remove(counted_until(hold), hold.most_units);
  }
}

// ---- Questions ----

std::int64_t Holds::spent(WindowKind kind) const {
  const auto& window = windows_[kind];
  return window.end - now_ <= rules_.early ? 0 : window.spent;
}

std::int64_t Holds::most_counted() const {
  return counted_.sum() + (rules_.is_budget ? windows_[kOfClock].spent : recent_.sum());
}

microseconds Holds::next_change() const {
  const auto& window = windows_[kOfClock];
  return window.spent > 0 ? std::min(held_.next_end(), window.end) : held_.next_end();
}

const Holds::Hold* Holds::find(std::uint32_t holder) const {
  const auto found = holds_.find(holder);
  return found == holds_.end() ? nullptr : &found->second;
}

Holds::Hold* Holds::mutable_hold(std::uint32_t holder) {
  return const_cast<Hold*>(find(holder));
}

bool Holds::is_known(std::uint32_t holder) const {
  const auto* hold = find(holder);
  return hold != nullptr && hold->forgotten > now_;
}

std::string_view Holds::note_on(const traffic::Arrival& event) const {
  const auto& words = vocabulary_of(event.event);
  const auto* hold = find(event.holder);
  if (event.event == words.take) {
    return hold != nullptr && hold->forgotten > event.at ? words.taken_before : std::string_view();
  }
  if (hold == nullptr) return words.never_taken;
  if (hold->is_given_back) return words.given_back_before;
  return hold->end > event.at ? std::string_view() : words.had_ended;
}

std::vector<microseconds> Holds::ends() const {
  std::vector<microseconds> ends;
  for (const auto& [holder, hold] : holds_) {
    if (!hold.is_given_back) ends.push_back(hold.end);
    if (!rules_.has_leases && rules_.is_budget) ends.push_back(hold.forgotten);
  }
  return ends;
}

std::string Holds::state_key() const {
  std::string key;
  for (std::size_t kind = 0; kind < window_kinds(); ++kind) {
    const auto& window = windows_[kind];
    key += '|' + std::to_string(window.spent);
    // The time says when windows of the clock begin.
    if (kind != kOfClock && now_ < window.end) key += '@' + std::to_string(window.begin.count());
  }
  for (const auto& [end, units] : recent_.ends()) {
    key += '|' + std::to_string(units) + '<' + std::to_string(end.count());
  }
  for (const auto& [holder, hold] : holds_) {
    key += '|' + std::to_string(holder);
    if (!rules_.has_leases && rules_.is_budget && hold.forgotten <= now_) continue;
    key += hold.is_given_back ? '-' : '+';
    if (hold.may_be_held_again) key += '+';
    const bool is_over = hold.is_given_back || counted_until(hold) <= now_;
    if (rules_.has_leases && is_over) continue;
    key += std::to_string(hold.end.count());
    if (hold.latest_end != hold.end) key += '<' + std::to_string(hold.latest_end.count());
    if (hold.most_units != hold.units) key += '*' + std::to_string(hold.most_units);
  }
  return key;
}

}  // namespace rlctl::simulation
