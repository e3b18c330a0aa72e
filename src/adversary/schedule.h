#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "limiter/limit.h"
#include "traffic/traffic.h"

// The requests that a search sends (a schedule), the answers to them, and the score that says how
// badly the limiter failed. Here too are the schedules under which limiters are known to fail, with
// which a search begins, and the gaps between requests of which it makes others. trial.h runs
// schedules; the reports of cli/commands/adversary show them.

namespace rlctl::adversary {

using std::chrono::microseconds;

// ---- Schedules and answers ----

struct Request {
  microseconds at{0};     ///< by the sender's clock
  std::int64_t cost = 1;  ///< below 0: a refund of that many units; units of a reservation
  traffic::Event event = traffic::Event::kRequest;
  /// Who holds or wants a lease or a reservation, from 1; 0: about neither.
  std::uint32_t holder = 0;
  std::int64_t actual = 0;   ///< cost of a settle; see traffic::Arrival
  microseconds hold{0};      ///< hold time of a reservation; see traffic::Arrival
  microseconds ahead{0};     ///< of other clocks; see traffic::Arrival
  std::uint32_t client = 0;  ///< whose key it is; those of other clients have keys of their own
  bool operator==(const Request&) const = default;
};
/// The request as one of a traffic with this key.
inline traffic::Arrival arrival_of(const Request& request, std::uint32_t key = 0,
                                   std::uint32_t index_within_key = 0) {
  return {.at = request.at,
          .ahead = request.ahead,
          .key = key,
          .event = request.event,
          .cost = request.cost,
          .index_within_key = index_within_key,
          .holder = request.holder,
          .actual = request.actual,
          .hold = request.hold};
}
inline bool is_earlier(const Request& one, const Request& other) {
  return one.at < other.at;
}
/// Requests in sending order. If one has an earlier time than the one before it, the clock has
/// stepped back.
using Schedule = std::vector<Request>;
/// The number of requests of all schedules.
std::int64_t requests_of(std::span<const Schedule> schedules);

/// How a limiter answered one request. Two answers are equal if they decide alike, whatever else
/// they report.
struct Answer {
  bool allowed = false;
  microseconds delay{0};  ///< how long the request waits before it proceeds
  /// As in limiter::Decision.
  std::int64_t remaining = limiter::kNotTold;
  microseconds retry_after = limiter::kTimeNotTold;
  microseconds reset_after = limiter::kTimeNotTold;

  bool operator==(const Answer& other) const {
    return allowed == other.allowed && delay == other.delay;
  }
};
inline Answer answer_of(const limiter::Decision& decision) {
  return {.allowed = decision.allowed,
          .delay = decision.delay,
          .remaining = decision.remaining,
          .retry_after = decision.retry_after,
          .reset_after = decision.reset_after};
}
/// One for each request of a schedule.
using Answers = std::vector<Answer>;
/// A schedule, the answers to it, and what they show.
template <typename Score>
struct Found {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

/// Whether the requests differ in their times at most: in what a report says of them.
inline bool are_alike(const Request& one, const Request& other) {
  return one.cost == other.cost && one.ahead == other.ahead && one.client == other.client;
}
/// Consecutive requests at the same time, which are alike.
struct Instant {
  microseconds at{0};
  std::int64_t cost = 1;
  std::size_t first = 0;  ///< the index of the first request
  std::size_t count = 0;
};
std::vector<Instant> instants_of(const Schedule& schedule);

/// The highest number of a holder; 0 if there is none.
std::uint32_t last_holder(const Schedule& schedule);
bool steps_back(const Schedule& schedule);
/// The schedule moved by a time, which may be negative.
Schedule shifted(Schedule schedule, microseconds by);

// ---- Scores ----

/// What an exact log holds: the units that were allowed and not given back.
class ExactLog {
 public:
  explicit ExactLog(microseconds window) : window_(window) {}

  /// A request that was allowed; below 0, a refund of the oldest units. Times must not go back.
  void add(microseconds at, std::int64_t cost) {
    if (cost < 0) {
      refunded_ = std::min(total(), gone(at - window_) - cost);
    } else {
      times_.push_back(at);
      units_.push_back(total() + cost);
    }
  }
  /// The units that count at `at` if each leaves `late` after one window.
  std::int64_t counted(microseconds at, microseconds late = microseconds{0}) const {
    return total() - gone(at - window_ - late);
  }
  /// The time of the oldest unit that counts at `at`; `at` if there is none.
  microseconds oldest(microseconds at) const {
    const auto first = std::upper_bound(units_.begin(), units_.end(), gone(at - window_));
    return first == units_.end() ? at : times_[static_cast<std::size_t>(first - units_.begin())];
  }

 private:
  std::int64_t total() const { return units_.empty() ? 0 : units_.back(); }
  /// The units that were given back or are not newer than this.
  std::int64_t gone(microseconds until) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), until) - times_.begin();
    const auto left = after == 0 ? 0 : units_[static_cast<std::size_t>(after) - 1];
    return std::max(refunded_, left);
  }

  microseconds window_;
  std::vector<microseconds> times_;
  std::vector<std::int64_t> units_;  ///< the sum of the units up to and including each time
  std::int64_t refunded_ = 0;        ///< this many from the beginning are gone
};

/// How a limiter fails under a schedule, measured as if time never went back: no request is earlier
/// than those before it. A request allowed with a delay counts when it may proceed. A refund gives
/// back the oldest units that an exact log holds.
struct Score {
  std::int64_t worst = 0;      ///< the most units allowed within one window
  microseconds worst_from{0};  ///< the start of the first span that held that many
  microseconds worst_span{0};
  /// Requests that were denied although an exact log of the allowed ones would have allowed them,
  /// both by the sender's clock and by a clock that never goes back.
  std::vector<std::size_t> wrongly_denied = {};
  /// How many of the wrong denials an exact log would make too if units left it one tick later: the
  /// limiter compares with > where the log compares with >=.
  std::size_t denied_at_edge = 0;

  /// Whether an exact log whose units leave one tick later would make every wrong denial too.
  bool only_at_edge() const { return denied_at_edge == wrongly_denied.size(); }
};
/// `tick` is the step of the limiter's clock. The units of the worst window came within less than a
/// window by times that are rounded down to `unit`.
Score score_of(const Schedule& schedule, const Answers& answers, const limiter::Limit& limit,
               microseconds tick = microseconds{1}, microseconds unit = microseconds{1});
/// The number of decimal digits of the µs by which the worst span is shorter than a window, at most
/// those of a hundredth of a window. The more digits, the more serious a leak: one within 1 µs of a
/// full window may be due to rounding.
int margin_digits(const Score& score, microseconds window);

// ---- Schedules under which limiters fail ----

/// Durations at which limiters are known to fail: close to the window, fractions of it, and clock
/// units. None is longer than two windows. The most promising come first.
std::vector<microseconds> critical_gaps(const limiter::Limit& limit);

/// Schedules, from time 0 on, under which limiters are known to fail. The most promising come
/// first, since the tries may not cover all. Each request has this cost; a schedule has at most
/// `most`.
std::vector<Schedule> forward_schedules(const limiter::Limit& limit, std::int64_t cost,
                                        std::int64_t most);
/// No request of forward_schedules() is later if requests of its cost, or of a higher one, fill the
/// limit with `fills`. Requests that a coarse clock sees at one instant are a fixed time apart, so
/// that many of them take longer than short windows.
microseconds latest_of_forward(const limiter::Limit& limit, std::int64_t fills, std::int64_t most);
/// How far from the end of a TTL a schedule keeps, since nobody knows to the ms when a key expires.
inline constexpr microseconds kTtlMargin{25'000};
/// Schedules that wait until keys with this TTL expire, or almost: bursts that fill the limit,
/// repeated through a window, also after a key that was filled shortly before its end, and around
/// the edge of a window; and clients that take just what refills meanwhile, or in the last
/// window before a long TTL ends. Each has at most `most` requests of this cost, and takes at most
/// the TTL and two windows. `lag`: by how much the limiter's clock rounds.
std::vector<Schedule> ttl_schedules(const limiter::Limit& limit, std::int64_t cost,
                                    std::int64_t most, microseconds ttl, microseconds lag);
/// Schedules that go on where this one ends: the same once more after a window, and a client that
/// tries again and again for five windows. A schedule has at most 100 requests more, or twice its
/// own.
std::vector<Schedule> continued_schedules(const Schedule& schedule, const limiter::Limit& limit,
                                          std::int64_t cost);
/// Schedules, with a clock that steps back, under which limiters are known to fail.
std::vector<Schedule> backward_schedules(const limiter::Limit& limit, std::int64_t cost);
/// Schedules with refunds, each of `refund` (below 0), between requests of this cost.
std::vector<Schedule> refunding_schedules(const limiter::Limit& limit, std::int64_t cost,
                                          std::int64_t refund);
/// The number of requests of this cost that fill the limit, or the burst if that is higher; at
/// least 1.
std::int64_t requests_to_fill(const limiter::Limit& limit, std::int64_t cost);

}  // namespace rlctl::adversary
