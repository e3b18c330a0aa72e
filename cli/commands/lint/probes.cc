#include "cli/commands/lint/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "traffic/pattern.h"

namespace rlctl::cli::lint {
namespace {

using rlctl::adversary::Answers;
using rlctl::adversary::Schedule;
using rlctl::lint::allowed_from;
using rlctl::lint::joined;
using rlctl::lint::kSecond;
using rlctl::lint::kTtlStep;
using rlctl::lint::schedule_text;
using std::chrono::microseconds;

/// Steady clients are watched for this many windows at least.
constexpr int kWindows = 8;
/// A client that keeps trying may wait this many times as long as one that waits in silence.
constexpr double kPatience = 2.5;
/// How often the limit steady clients ask: just what refills, just above the limit, far above it.
constexpr std::array kRates{1.0, 1.1, 1.5, 2.0, 4.0, 12.0};
/// Of a wait, the last ticks of the script's time get one request each; and of a TTL, the last
/// requests of a client that takes just what refills are sent.
constexpr int kLast = 1000;
/// This part of a time is shortly before its end.
constexpr double kJustBefore = 0.85;
/// A client that retries steadily sends no more than this.
constexpr std::int64_t kMostRequests = 20'000;

microseconds scaled(microseconds time, double factor) {
  return microseconds(std::llround(static_cast<double>(time.count()) * factor));
}

template <typename Each>
std::vector<Each> first_of(const std::vector<Each>& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::string texts_of(const std::vector<microseconds>& times) {
  std::string text;
  for (const auto time : times) text += (text.empty() ? "" : ", ") + span_text(time);
  return text;
}

/// The longest time without an allowed request, from a denied one on.
struct ShutOut {
  microseconds length{0};
  std::size_t last = 0;  ///< the request that ends it, or the last one
};
ShutOut longest_shut_out(const Schedule& schedule, const Answers& answers) {
  ShutOut longest;
  microseconds since{0};
  bool is_shut_out = false;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (!answers[i].allowed && !std::exchange(is_shut_out, true)) since = schedule[i].at;
    const auto length = schedule[i].at - since;
    if (is_shut_out && length > longest.length) longest = {.length = length, .last = i};
    if (answers[i].allowed) is_shut_out = false;
  }
  return longest;
}

/// The most units allowed within a window.
std::int64_t most_in_window(const Schedule& schedule, const Answers& answers, microseconds window) {
  std::int64_t most = 0, units = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (answers[i].allowed) units += schedule[i].cost;
    for (; schedule[first].at + window <= schedule[i].at; ++first) {
      if (answers[first].allowed) units -= schedule[first].cost;
    }
    most = std::max(most, units);
  }
  return most;
}

class Probes {
 public:
  Probes(const Subject& subject, const MakeTrial& make_trial, const ProbeRequest& request)
      : subject_(subject),
        request_(request),
        limit_(subject.candidate.limits.front()),
        window_(limit_.window),
        limiter_(make_trial(subject.candidate)) {}

  /// Sends only requests below the limit, if the script holds as many at one instant. `wait`: see
  /// first_wait().
  Probed run_seldom(microseconds wait) {
    first_wait_ = wait;
    first_fill_ = fill_with(request_.costs.front());
    if (std::ssize(first_fill_) > limit_.limit) send_seldom();
    return std::move(probed_);
  }

  Probed run() {
    for (const auto cost : request_.costs) {
      const auto what = fmt::format("cost {}", cost);
      const auto fill = fill_with(cost);
      if (fill.empty()) {
        skip(what, cost > 1 ? "nothing was denied, or the first request was"
                            : "nothing was denied at one instant");
        continue;
      }
      if (cost == request_.costs.front()) first_fill_ = fill;
      find_wait(fill, cost);
      probed_.fills[cost] = {.schedule = fill, .wait = wait_};
      if (cost == request_.costs.front()) first_wait_ = wait_;
      if (!wait_) continue;
      send_steadily(fill, cost);
      send_in_ticks(fill, cost);
    }
    if (first_fill_.empty()) {
      skip("idle gaps of each TTL", "nothing was denied at one instant");
    } else {
      send_seldom();
      send_after_ttls();
    }
    return std::move(probed_);
  }

  /// After which a client is let in that sends nothing, with the first cost; if run() has found it.
  std::optional<microseconds> first_wait() const { return first_wait_; }

 private:
  void skip(std::string what, std::string why) {
    probed_.not_tested.push_back({std::move(what), std::move(why)});
  }

  std::vector<Answers> answers_to(const std::vector<Schedule>& schedules) {
    probed_.requests += rlctl::adversary::requests_of(schedules);
    return limiter_->trial().run(schedules);
  }
  Answers answers_to(const Schedule& schedule) {
    return std::move(answers_to(std::vector<Schedule>{schedule}).front());
  }

  /// The answers if no key expires.
  std::vector<Answers> answers_if_kept(const std::vector<Schedule>& schedules) {
    limiter_->engine()->keep_keys(true);
    auto answers = answers_to(schedules);
    limiter_->engine()->keep_keys(false);
    return answers;
  }

  /// The fewest requests at one instant, or one tick apart, of which the last is denied; empty if
  /// none is, or if the first is.
  Schedule fill_with(std::int64_t cost) {
    const auto most = std::max(limit_.limit, limit_.burst_or_limit()) + 1;
    for (const auto step : {microseconds{0}, request_.tick}) {
      Schedule schedule;
      for (std::int64_t i = 0; i < 2 * most; ++i) {
        schedule.push_back({.at = request_.start + i * step, .cost = cost});
      }
      const auto answers = answers_to(schedule);
      const auto denied = std::ranges::find(answers, false, &rlctl::adversary::Answer::allowed);
      if (denied == answers.end()) continue;
      const auto count = static_cast<std::size_t>(denied - answers.begin());
      schedule.resize(count == 0 ? 0 : count + 1);
      return schedule;
    }
    return {};
  }

  /// Schedules that fill the limit, and then send as much again at an instant for each pause.
  std::vector<Schedule> after_pauses(const Schedule& fill, const std::vector<microseconds>& pauses,
                                     std::int64_t cost) const {
    std::vector<Schedule> schedules;
    for (const auto pause : pauses) {
      auto schedule = fill;
      const auto at = fill.back().at + pause;
      schedule.insert(schedule.end(), fill.size() + 1, {.at = at, .cost = cost});
      schedules.push_back(std::move(schedule));
    }
    return schedules;
  }

  microseconds refill() const {
    return scaled(window_,
                  static_cast<double>(limit_.burst_or_limit()) / static_cast<double>(limit_.limit));
  }

  std::vector<microseconds> pauses() const {
    constexpr int kParts = 16;
    const auto tick = request_.tick;
    std::vector<microseconds> all;
    for (int i = 1; i <= kParts; ++i) all.push_back(window_ * i / (kParts * limit_.limit));
    for (int i = 1; i <= 6 * kParts; ++i) all.push_back(window_ * i / kParts + tick);
    std::vector<microseconds> ends{window_, refill()};
    ends.insert(ends.end(), request_.ttls.begin(), request_.ttls.end());
    for (const auto end : ends) {
      all.insert(all.end(), {end - tick, end, end + tick, end + kTtlStep});
    }
    std::erase_if(all, [](const auto pause) { return pause <= microseconds{0}; });
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// Finds out for how long a client is denied that waits in silence, and what it gets then.
  void find_wait(const Schedule& fill, std::int64_t cost) {
    wait_.reset();
    auto all = pauses();
    microseconds before{0};
    constexpr int kRounds = 3, kParts = 8;
    for (int round = 0; round < kRounds; ++round) {
      const auto schedules = after_pauses(fill, all, cost);
      const auto answers = answers_to(schedules);
      std::optional<microseconds> first;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto got = allowed_from(answers[i], fill.size());
        const bool is_free = fill.front().at == fill.back().at && got >= std::ssize(fill) &&
                             got * cost > limit_.burst_or_limit();
        if (is_free && !probed_.flaws.free_pass) {
          probed_.flaws.free_pass = {.after = all[i],
                                     .sent = std::ssize(fill) + 1,
                                     .allowed = got,
                                     .schedule = schedule_text(schedules[i], answers[i])};
        }
        if (first) continue;
        if (answers[i][fill.size()].allowed) {
          first = all[i];
        } else {
          before = all[i];
        }
      }
      if (!first) break;
      wait_ = first;
      const auto part = (*first - before) / kParts;
      if (part < microseconds{1}) break;
      all.clear();
      for (int i = 1; i <= kParts; ++i) all.push_back(before + i * part);
      all.back() = *first;
    }
    if (!wait_) {
      skip(fmt::format("retries of cost {}", cost),
           fmt::format("once the limit was reached, a client was denied for {}, though it sent "
                       "nothing: does the {}'s own window differ?",
                       span_text(pauses().back()), kind()));
    }
  }

  std::string_view kind() const { return subject_.candidate.program ? "program" : "script"; }

  /// The gap between requests of this cost of which each takes just what refills.
  microseconds fair(std::int64_t cost) const {
    return scaled(window_, static_cast<double>(cost) / static_cast<double>(limit_.limit));
  }

  /// How often steady clients ask, so that `length` does not take too many requests.
  std::vector<microseconds> gaps(std::int64_t cost, microseconds length) const {
    std::vector<microseconds> all;
    for (const auto rate : kRates) {
      all.push_back(
          std::max(scaled(fair(cost), 1 / rate), length / kMostRequests + microseconds{1}) +
          (rate > 1 ? microseconds{0} : request_.tick));
    }
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// Sends steadily for windows, from a full limit on: a client that waits is let in after wait_.
  void send_steadily(const Schedule& fill, std::int64_t cost) {
    const auto patience = std::max(*wait_, window_);
    const auto length = std::max(window_ * kWindows, 6 * patience);
    std::vector<Schedule> schedules;
    const auto all = gaps(cost, length);
    for (const auto gap : all) {
      auto schedule = fill;
      for (auto at = gap; at <= length; at += gap) {
        schedule.push_back({.at = fill.back().at + at, .cost = cost});
      }
      schedules.push_back(std::move(schedule));
    }
    const auto answers = answers_to(schedules);
    std::int64_t most = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      most = std::max(most, most_in_window(schedules[i], answers[i], window_));
      const auto allowed = allowed_from(answers[i], fill.size());
      const auto shut_out = longest_shut_out(schedules[i], answers[i]);
      const bool is_locked_out = shut_out.length > scaled(patience + all[i], kPatience) ||
                                 scaled(std::max(*wait_, fair(cost)) + all[i],
                                        kPatience * static_cast<double>(allowed + 1)) < length;
      if (probed_.flaws.lock_out || !is_locked_out) continue;
      if (is_denied_without_retries(fill.size(), schedules[i], answers[i], shut_out.last)) {
        skip("retries",
             fmt::format("a client that asks each {} is denied for {}, and so it is without what "
                         "was denied: has the {} a second limit, or a ban?",
                         span_text(all[i]), span_text(shut_out.length), kind()));
        break;
      }
      probed_.flaws.lock_out = {.gap = all[i],
                                .cost = cost,
                                .span = schedules[i].back().at - fill.back().at,
                                .sent = std::ssize(schedules[i]) - std::ssize(fill),
                                .allowed = allowed,
                                .wait = *wait_};
      add_evidence(schedules[i], answers[i], fill.size());
    }
    check_excess(most, fill, cost);
    probed_.tested.push_back(
        fmt::format("retries each {} after the limit was reached, for {}, of "
                    "cost {}",
                    texts_of(all), span_text(length), cost));
  }

  /// Whether the client would be shut out as long if it had sent only the first `fill` requests and
  /// those that were allowed. Its retries are then not the cause.
  bool is_denied_without_retries(std::size_t fill, const Schedule& schedule, const Answers& answers,
                                 std::size_t last) {
    if (answers[last].allowed) --last;
    Schedule allowed;
    for (std::size_t i = 0; i <= last; ++i) {
      if (i < fill || i == last || answers[i].allowed) allowed.push_back(schedule[i]);
    }
    return !answers_to(allowed).back().allowed;
  }

  /// Says so if more than a bucket with a full burst were allowed within a window, unless a free
  /// pass is why.
  void check_excess(std::int64_t most, const Schedule& fill, std::int64_t cost) {
    const auto size = std::max<std::int64_t>(std::ssize(fill) * cost, limit_.burst_or_limit());
    if (!probed_.flaws.free_pass && !probed_.is_excess &&
        most > 2 * std::max(limit_.limit, size) + 1) {
      probed_.is_excess = true;
      skip("windows",
           fmt::format("{} units were allowed within {}, more than twice {}: the {}'s own "
                       "limit differs",
                       most, period_text(window_), limit_.limit, kind()));
    }
  }

  /// The steps in which the script's clock may count: that in which it is told the time, and what
  /// it may round the time to.
  std::vector<microseconds> ticks() const {
    std::vector<microseconds> all{request_.tick, kSecond};
    const auto& foreign = subject_.candidate.foreign;
    const auto* told = foreign ? script::coarsest_time(*foreign) : nullptr;
    if (told != nullptr && told->tick > request_.tick && told->tick != kSecond) {
      all.push_back(told->tick);
    }
    return all;
  }

  /// Sends one request each tick in the last part of the wait, since rounding may take from each of
  /// them what has refilled: a client that waits in silence is let in after wait_.
  void send_in_ticks(const Schedule& fill, std::int64_t cost) {
    for (const auto tick : ticks()) {
      const auto length = std::min(kLast * tick, *wait_ / 2);
      if (length / tick < 2) continue;
      const auto full = fill.back().at;
      auto schedule = fill;
      for (auto at = *wait_ - length; at < *wait_ - tick; at += tick) {
        schedule.push_back({.at = full + at, .cost = cost});
      }
      schedule.push_back({.at = full + *wait_ + length / 2, .cost = cost});
      const auto answers = answers_to(schedule);
      probed_.tested.push_back(fmt::format("retries each {} in the last {} of the wait, of cost {}",
                                           span_text(tick), span_text(length), cost));
      check_excess(most_in_window(schedule, answers, window_), fill, cost);
      if (probed_.flaws.lock_out || allowed_from(answers, fill.size()) > 0) continue;
      // A single retry may restart a ban, which then ends by itself.
      auto once = fill;
      once.insert(once.end(), {schedule[fill.size()], schedule.back()});
      if (!answers_to(once).back().allowed) continue;
      probed_.flaws.lock_out = {.gap = tick,
                                .cost = cost,
                                .span = schedule.back().at - full,
                                .sent = std::ssize(schedule) - std::ssize(fill),
                                .wait = *wait_};
      add_evidence(schedule, answers, fill.size());
    }
  }

  /// Adds to the lock-out the requests of a schedule that show it, of which the first `fill` reach
  /// the limit: if the others were denied until a client that waits is let in, no more than these.
  void add_evidence(const Schedule& schedule, const Answers& answers, std::size_t fill) {
    auto& lock_out = *probed_.flaws.lock_out;
    const auto is_let_in = [&](const auto& request) {
      return request.at >= schedule[fill - 1].at + *wait_;
    };
    const auto first = std::find_if(schedule.begin() + static_cast<std::ptrdiff_t>(fill),
                                    schedule.end(), is_let_in);
    auto size = static_cast<std::size_t>(first - schedule.begin());
    lock_out.counts_denials =
        size < schedule.size() && allowed_from(first_of(answers, size + 1), fill) == 0;
    size = lock_out.counts_denials ? size + 1 : schedule.size();
    lock_out.schedule = schedule_text(first_of(schedule, size), first_of(answers, size));
  }

  /// The gaps of clients that ask for at most half of this limit, of which `least` is the gap, or
  /// twice in a window; also just before the end of each TTL. With those slightly below and above
  /// the window, half of it, and whole units of the script's clock, a client comes just before or
  /// after a rounded end again and again.
  std::vector<microseconds> seldom_gaps(std::int64_t limit, microseconds least) const {
    constexpr int kLongest = 50;
    std::vector<microseconds> all{least + request_.tick};
    if (limit > 1) all.push_back(scaled(window_, kJustBefore));
    for (const auto ttl : request_.ttls) {
      if (ttl <= window_ * kLongest) all.push_back(scaled(ttl, kJustBefore));
    }
    const auto unit = ticks().back();
    const auto step = std::max(request_.tick, std::min(kTtlStep, window_ / kLast) / 2);
    std::vector<microseconds> whole{window_, (least / unit + 1) * unit};
    if (limit > 2) whole.push_back(window_ / 2);
    for (const auto each : whole) all.insert(all.end(), {each - step, each + step});
    const auto is_too_fast = [&](const auto gap) {
      return gap < least && !(limit > 1 && 2 * gap > window_);
    };
    std::erase_if(all, is_too_fast);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// Early in a window of the clock, and at each fifth of the first second of one.
  std::vector<microseconds> seldom_starts() const {
    constexpr int kPhases = 5;
    std::vector<microseconds> all{request_.start};
    const auto first = (request_.start / window_ + 1) * window_;
    for (int i = 0; i < kPhases; ++i)
      all.push_back(first + std::min(kSecond, window_) * i / kPhases);
    return all;
  }

  /// Sends so seldom that a limit of half as much would do.
  void send_seldom() {
    const auto cost = request_.costs.front();
    const auto limit = std::min(limit_.limit, limit_.burst_or_limit()) / cost;
    const auto holds = static_cast<std::int64_t>(first_fill_.size()) - 1;
    const auto most = std::max(limit_.limit, limit_.burst_or_limit()) / cost;
    if (holds < limit || limit == 0 || holds > most + 1) {
      return skip("requests below the limit", fmt::format("the {}'s own limit differs", kind()));
    }
    // An estimate of the last window may deny more than that.
    const auto least = scaled(window_, 2.0 / static_cast<double>(limit));
    const auto gaps = seldom_gaps(limit, least);
    std::vector<microseconds> all;  // the gap of each schedule
    std::vector<Schedule> schedules;
    for (const auto start : seldom_starts()) {
      for (const auto gap : gaps) {
        Schedule schedule;
        for (std::int64_t i = 0; i < 3 * holds + 6; ++i) {
          schedule.push_back({.at = start + i * gap, .cost = cost});
        }
        all.push_back(gap);
        schedules.push_back(std::move(schedule));
      }
    }
    const auto answers = answers_to(schedules);
    for (std::size_t i = 0; i < all.size() && !probed_.flaws.renewal; ++i) {
      const auto denied = std::ssize(answers[i]) - allowed_from(answers[i], 0);
      constexpr int kFew = 4;
      const bool may_be_estimate = all[i] < least && limit == 2;
      if (denied == 0 || (may_be_estimate && kFew * denied <= std::ssize(answers[i]))) continue;
      if (first_wait_ > 2 * std::max(window_, refill())) {
        skip("requests below the limit",
             fmt::format("they were denied, but so was a client for {} that sent nothing: does the "
                         "{}'s own window differ?",
                         span_text(*first_wait_), kind()));
        break;
      }
      const auto first = std::ranges::find(answers[i], false, &rlctl::adversary::Answer::allowed);
      const auto size = static_cast<std::size_t>(first - answers[i].begin()) + 1;
      const auto wait = std::max(first_wait_.value_or(window_), window_) + kTtlStep;
      const auto denied_at = schedules[i][size - 1].at;
      const auto silent = joined(first_of(schedules[i], size), denied_at + wait, cost);
      if (!answers_to(silent).back().allowed) {
        skip("requests below the limit",
             fmt::format("one was denied, and so is a client that then sends nothing for {}: has "
                         "the {} a second limit, or a ban?",
                         span_text(wait), kind()));
        break;
      }
      probed_.flaws.renewal = {
          .gap = all[i],
          .phase = schedules[i].front().at % window_,
          .sent = std::ssize(answers[i]),
          .denied = denied,
          .limit = limit_.limit,
          .schedule = schedule_text(first_of(schedules[i], size), first_of(answers[i], size))};
    }
    probed_.tested.push_back(
        fmt::format("requests below a limit of {}, each {}", limit_.limit, texts_of(gaps)));
  }

  /// Whether the script lets a client in again although its keys stay: then it does not count on
  /// their expiry.
  bool is_timed_by_itself() {
    std::vector<microseconds> all{window_ + kTtlStep, 2 * window_ + kTtlStep, refill() + kTtlStep};
    const auto answers = answers_if_kept(after_pauses(first_fill_, all, request_.costs.front()));
    return std::ranges::any_of(answers,
                               [&](const auto& each) { return each[first_fill_.size()].allowed; });
  }

  /// Sends after the first expiry of a limiter that counts on it, if that is within a window.
  void send_after_expiry() {
    // A counter of a window of the clock rightly expires at its end, in whole seconds, whenever it
    // began; another TTL may end there once by chance.
    for (const auto later : {microseconds{0}, window_ / 4}) {
      auto schedule = rlctl::adversary::shifted(first_fill_, later);
      const auto ttls = limiter_->trial().ttls(schedule);
      if (ttls.empty()) return;
      const auto ttl = *std::ranges::min_element(ttls);
      const auto end = schedule.back().at + ttl;
      if (end + kTtlStep >= schedule.front().at + window_) return;
      if (end % window_ <= kSecond) continue;
      schedule.push_back({.at = end + kTtlStep, .cost = request_.costs.front()});
      const auto answers = answers_to(schedule);
      if (answers.back().allowed && !answers_if_kept({schedule}).front().back().allowed) {
        probed_.flaws.forgotten = {.ttl = ttl, .allowed = 1, .is_window = true};
      }
      return;
    }
  }

  /// Schedules that fill the limit, and send as much again after this TTL: idle meanwhile, or with
  /// what refills; and one in which the first of few requests sets the TTL, and the limit is
  /// reached just before it ends.
  std::vector<Schedule> across(microseconds ttl) const {
    const auto cost = request_.costs.front();
    const auto size = first_fill_.size();
    const auto end = first_fill_.back().at + ttl + kTtlStep;
    std::vector<Schedule> schedules;
    // Exactly what refills, and a little less, as rounding may have it.
    for (const auto gap : {ttl + 2 * kTtlStep, fair(1), fair(1) + request_.tick}) {
      auto schedule = first_fill_;
      auto at = first_fill_.back().at + gap;
      if (end - at > kLast * gap) {
        at = end - kLast * gap;
        schedule.insert(schedule.end(), size, {.at = at, .cost = cost});
      }
      for (; at < end; at += gap) schedule.push_back({.at = at, .cost = cost});
      schedule.insert(schedule.end(), size, {.at = end, .cost = cost});
      schedules.push_back(std::move(schedule));
    }
    if (ttl <= 2 * kTtlStep) return schedules;
    Schedule late{first_fill_.front()};
    const auto just_before = first_fill_.front().at + ttl - 2 * kTtlStep;
    const auto gap = std::max(scaled(window_, kJustBefore), ttl / kLast);
    while (late.back().at + gap < just_before) {
      late.push_back({.at = late.back().at + gap, .cost = cost});
    }
    late.insert(late.end(), size, {.at = just_before, .cost = cost});
    late.insert(late.end(), size, {.at = end, .cost = cost});
    schedules.push_back(std::move(late));
    return schedules;
  }

  /// Sends after gaps of each TTL, idle or with what refills, and compares with keys that stay.
  void send_after_ttls() {
    if (request_.ttls.empty()) return;
    if (subject_.candidate.is_bundled()) return;  // TTLs change none of its answers
    probed_.tested.push_back("requests after idle gaps of each TTL: " + texts_of(request_.ttls));
    probed_.needs_expiry = !is_timed_by_itself();
    if (probed_.needs_expiry) return send_after_expiry();
    std::vector<Schedule> schedules;
    std::vector<microseconds> ttls, paced;
    for (const auto ttl : request_.ttls) {
      for (auto& schedule : across(ttl)) schedules.push_back(std::move(schedule));
      ttls.resize(schedules.size(), ttl);
      if (fair(1) < ttl + kTtlStep) paced.push_back(ttl);
    }
    const auto expiring = answers_to(schedules), kept = answers_if_kept(schedules);
    for (std::size_t i = 0; i < schedules.size() && !probed_.flaws.forgotten; ++i) {
      const auto first = schedules[i].size() - first_fill_.size();
      const auto with = allowed_from(expiring[i], first), without = allowed_from(kept[i], first);
      if (with <= without) continue;
      probed_.flaws.forgotten = {.ttl = ttls[i], .allowed = with, .allowed_if_kept = without};
    }
    if (paced.empty()) return;
    probed_.tested.push_back("a client that takes just what refills, for each TTL: " +
                             texts_of(paced));
  }

  const Subject& subject_;
  const ProbeRequest& request_;
  const limiter::Limit& limit_;
  microseconds window_;
  std::unique_ptr<LimiterTrial> limiter_;
  Schedule first_fill_;                     ///< with the first cost
  std::optional<microseconds> first_wait_;  ///< see first_wait()
  std::optional<microseconds> wait_;        ///< after which a client is let in that sends nothing
  Probed probed_;
};

}  // namespace

Probed probe(const Subject& subject, const MakeTrial& make_trial, const ProbeRequest& request) {
  Probes probes(subject, make_trial, request);
  auto probed = probes.run();
  const auto wait = probes.first_wait();
  if (subject.candidate.limits.front().limit > 1 || probed.flaws.renewal || !wait) return probed;
  // A limit of 1 never counts two requests, of which the second may renew the window.
  auto other = subject;
  auto& limit = other.candidate.limits.front();
  limit.limit = 2;
  if (limit.burst) limit.burst = std::max(*limit.burst, limit.limit);
  auto more = Probes(other, make_trial, request).run_seldom(*wait);
  probed.requests += more.requests;
  probed.flaws.renewal = more.flaws.renewal;
  std::ranges::move(more.tested, std::back_inserter(probed.tested));
  return probed;
}

}  // namespace rlctl::cli::lint
