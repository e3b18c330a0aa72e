#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limiter/limit.h"
#include "redis/reply.h"
#include "script/reply.h"
#include "traffic/traffic.h"

// What a run reports. A Measurement takes the decisions one by one, as they are made, and finds the
// worst window, the denials, and how right the limiter's own figures were; a Pace tells whether a
// run under the real clock kept to its schedule; a Timeline is for plots. An Outcome is all of
// these for one limiter: virtual_run.h and real_run.h return it, and cli/commands/burst reports it.

namespace rlctl::simulation {

// ---- Decisions ----

/// The most units allowed within one window, relative to the limit, and when. Ties go to the first
/// limit, then to the first key. A request allowed with a delay counts when it may proceed.
struct Worst {
  std::int64_t allowed = 0;  ///< units
  double ratio = 0;          ///< to the limit: 1 if exactly reached
  std::size_t limit = 0;     ///< the index of the limit
  std::uint32_t key = 0;
  microseconds from{0};         ///< the first unit
  microseconds span{0};         ///< from the first to the last
  microseconds edge{0};         ///< the last edge of a window of the limit until the last unit
  std::int64_t after_edge = 0;  ///< how many of the units are not before the edge
};

/// Whether retry_after was right, as far as later requests show. From the first denial of a key
/// until it is allowed again, each denial promises an instant. A promise is kept if requests before
/// that instant were denied and the first request at it or later was allowed; kNever is a promise
/// that is broken if the request is ever allowed. A request whose cost differs from that of the
/// first denied one proves nothing; if it is allowed, the comparison ends.
struct RetryError {
  /// How often a key was denied and then allowed again, or had a promise broken before the traffic
  /// ended.
  std::int64_t compared = 0;
  std::int64_t broken = 0;    ///< how many of the comparisons found a broken promise
  microseconds too_early{0};  ///< the longest a key was denied after a promised instant
  microseconds too_late{0};   ///< the longest a key was allowed before a promised instant
};

/// Whether `remaining` was right: after each decision it is compared with what an exact log of the
/// allowed units has left, which is the limit less the units allowed within the last window. Units
/// that are allowed with a delay count from the decision until a window after they proceed.
struct RemainingError {
  std::int64_t compared = 0;  ///< decisions that reported it
  std::int64_t too_many = 0;  ///< the most units by which one reported more than the log has left
  std::int64_t too_few = 0;   ///< the most units by which one reported less

  bool operator==(const RemainingError&) const = default;
};

/// Whether `reset_after` was right: it is compared with the time until the window is empty.
struct ResetError {
  std::int64_t compared = 0;
  microseconds too_early{0};  ///< the longest time for which units remained after a reported reset
  microseconds too_late{0};   ///< the longest time for which the window was empty before one

  bool operator==(const ResetError&) const = default;
};

/// A clock minute, as monitoring counts it.
struct Minute {
  microseconds from{0};               ///< since 1970, a multiple of 60 s
  std::int64_t sent = 0, denied = 0;  ///< requests

  bool operator==(const Minute&) const = default;
};

struct KeyDenied {
  std::uint32_t key = 0;
  std::int64_t denied = 0;
};

/// The worst window of one key, and how many of its requests were denied.
struct KeyWorst {
  Worst worst = {};
  std::int64_t denied = 0;
};

/// How a limiter treated the traffic.
struct Measured {
  static constexpr std::size_t kWorstKeys = 100;

  std::int64_t sent = 0, allowed = 0, denied = 0;  ///< requests
  std::int64_t keys = 0, keys_denied = 0;          ///< requested; denied at least once
  /// How many of the denials each limit made, in their order: see Decision::denied_by. Their sum is
  /// less than `denied` if a foreign script does not tell.
  std::vector<std::int64_t> denied_by_limit = {};
  Worst worst;
  /// The worst windows of the keys to which anything was allowed, the worst first; those of
  /// kWorstKeys keys at most.
  std::vector<KeyWorst> worst_keys = {};
  std::optional<microseconds> first_denial;  ///< since 1970
  /// The longest time for which every request of a key was denied: from a denial until the next
  /// allowed request, or until the key's last request.
  microseconds longest_shut_out{0};
  microseconds longest_delay{0};  ///< for which an allowed request had to wait
  RetryError retry_error;
  RemainingError remaining_error;
  ResetError reset_error;
  /// The fewest units that were allowed to a key before its first denial, if that request would not
  /// have filled any limit: the limiter's limit is not the one that it is measured by.
  std::optional<std::int64_t> denied_after = {};
  /// The minute with the most denials, the first if tied; std::nullopt without denials.
  std::optional<Minute> worst_minute = {};
};

/// The most units of one key allowed within any span of one window, which is what a limit bounds,
/// measured from the decisions, not from what a limiter reports. A span holds the units less than
/// one window after its beginning. Memory grows with the contents of a window.
class WorstWindow {
 public:
  /// The edges are those of the calendar, unless it is null.
  explicit WorstWindow(microseconds window, const limiter::CalendarWindow* calendar = nullptr)
      : window_(window), calendar_(calendar) {}

  /// Times must not go back.
  void allow(microseconds at, std::int64_t cost);
  /// Gives back the oldest units of the window that ends at `at`, as many as there are.
  void refund(microseconds at, std::int64_t units);
  /// Drops the units before the window that ends at `at`.
  void forget_before(microseconds at);

  std::int64_t allowed() const noexcept { return most_; }
  /// The first span that held that many: its first unit, and the time from that to the last.
  microseconds from() const noexcept { return from_; }
  microseconds span() const noexcept { return span_; }
  /// The last edge, or multiple of the window since 1970, until the end of that span, and how many
  /// of its units are not before it. after_edge() ignores refunds.
  microseconds edge() const noexcept { return edge_; }
  std::int64_t after_edge() const noexcept { return after_edge_; }

  /// As of the last allow() or forget_before(): the units in the window, and when the last of them
  /// leaves it; 0 if it is empty.
  std::int64_t in_window() const noexcept { return in_window_; }
  microseconds empty_at() const noexcept {
    return recent_.empty() ? microseconds{0} : recent_.back().at + window_;
  }

 private:
  struct Units {
    microseconds at;
    std::int64_t count;
  };

  microseconds window_;
  const limiter::CalendarWindow* calendar_;
  // Oldest first; the window begins at first_. (A deque takes blocks of 512 bytes, which is a lot
  // with many keys.)
  std::vector<Units> recent_;
  std::size_t first_ = 0;
  std::int64_t in_window_ = 0;
  microseconds last_edge_{0};    ///< at or before the last unit
  std::int64_t since_edge_ = 0;  ///< the units since last_edge_
  std::int64_t most_ = 0, after_edge_ = 0;
  microseconds from_{0}, span_{0}, edge_{0};
};

/// A request that was allowed with a delay.
struct DelayedRequest {
  microseconds at{0};  ///< when it proceeds
  std::int64_t cost = 1;
};

/// The delayed requests of a key that have not proceeded yet.
class DelayedRequests {
 public:
  void push(microseconds at, std::int64_t cost);
  /// Removes the one that proceeds first, if that is at this time or before.
  std::optional<DelayedRequest> pop_until(microseconds at);

  bool empty() const noexcept { return requests_.empty(); }
  /// The sum of their costs.
  std::int64_t units() const noexcept { return units_; }
  /// The latest time that was pushed, also if that request has been removed.
  microseconds last() const noexcept { return last_; }

 private:
  struct IsLater {
    bool operator()(const DelayedRequest& one, const DelayedRequest& other) const {
      return one.at > other.at;
    }
  };

  /// The earliest is on top.
  std::priority_queue<DelayedRequest, std::vector<DelayedRequest>, IsLater> requests_;
  std::int64_t units_ = 0;
  microseconds last_{0};
};

class Timeline;

/// Measures decisions one by one. Memory grows with the number of keys and the contents of their
/// windows.
class Measurement {
 public:
  explicit Measurement(std::vector<limiter::Limit> limits) : limits_(std::move(limits)) {
    measured_.denied_by_limit.resize(limits_.size());
  }
  /// From now on does not compare what decisions report as remaining and reset_after.
  void ignore_reports() noexcept { compares_reports_ = false; }

  /// From now on adds the allowed units to this, which must outlive this, as soon as they are known
  /// to have proceeded; the order is not that of their times.
  void note_departures(Timeline& departures) noexcept { departures_ = &departures; }

  void add(const traffic::Arrival& arrival, const limiter::Decision& decision);
  Measured result() const;
  /// Takes the requests that were not known to have proceeded, in no particular order.
  std::vector<DelayedRequest> take_delayed();
  /// The keys with the most denials, in descending order; ties by number.
  std::vector<KeyDenied> most_denied(std::size_t count) const;

 private:
  /// The denials of a key since it was last allowed.
  struct Denials {
    microseconds first{0}, last{0};
    std::int64_t cost = 1;  ///< of the first denied request
    /// The promises of denials with that cost; std::nullopt if no denial made one.
    std::optional<microseconds> earliest_promise = {}, latest_promise = {};
    bool never = false;   ///< whether a denial promised that the request is never allowed
    bool broken = false;  ///< whether a promise was broken
  };
  struct Key {
    bool is_requested = false;
    std::int64_t denied = 0;
    std::int64_t units_before_denial = 0;
    std::optional<Denials> denials;
  };
  Key& key(std::uint32_t number);
  void deny(Key& key, const traffic::Arrival& arrival, const limiter::Decision& decision);
  void note_early_denial(std::int64_t allowed, std::int64_t cost);
  void end_denials(Key& key, const traffic::Arrival& allowed);
  void count_minute(microseconds at, bool allowed);
  void count_proceeded(const traffic::Arrival& arrival);
  [[gnu::noinline]] void compare(const traffic::Arrival& arrival,
                                 const limiter::Decision& decision);
  void allow(std::uint32_t key, const DelayedRequest& request);
  Measurement after_all_departures() const;
  Worst worst_of(std::size_t key) const;
  std::vector<KeyWorst> worst_keys() const;

  std::vector<limiter::Limit> limits_;
  bool compares_reports_ = true;
  Timeline* departures_ = nullptr;
  std::vector<Key> keys_;
  std::vector<WorstWindow> windows_;  ///< one per key and limit, ordered by key
  std::unordered_map<std::uint32_t, DelayedRequests> delayed_;  ///< by key, if it has any
  Measured measured_;  ///< its worst minute covers finished minutes only
  Minute minute_;      ///< of the latest request
};

// ---- The pace of a run under the real clock ----

/// Whether a run's requests were sent when they were due, and answered as fast as they were sent.
struct Pace {
  microseconds lag{0};             ///< the longest time from when a request was due to sending it
  microseconds span{0};            ///< from when the first request was due to when the last one was
  double sent_per_second = 0;      ///< from the first send to the last; 0 if that is no time
  double seconds = 0;              ///< from the first send to the last answer
  double answered_per_second = 0;  ///< within `seconds`

  /// Whether no request was sent later than by a hundredth of the span, or by 1 ms.
  bool sender_kept_up() const noexcept { return lag <= std::max(microseconds{1000}, span / 100); }
  /// Whether 99 % of the rate of sending was answered; true if the run was shorter than a second,
  /// in which the wait for the last answers counts too much.
  bool server_kept_up() const noexcept {
    return seconds < 1 || answered_per_second >= 0.99 * sent_per_second;
  }
};

// ---- Requests over time ----

/// How many requests were allowed and denied over time, in bins of equal width, for a plot. The
/// length of the traffic need not be known in advance: whenever there would be more than kMax
/// bins, neighbours are merged, at most five into one, so that there are soon between a fifth of
/// kMax and kMax. Bins begin at multiples of their width from zero(), and each width divides all
/// round widths from 16 times itself on: a chart whose columns begin at multiples of a round width
/// from zero() has no bin in two columns if it has at most a hundredth of kMax of them.
class Timeline {
 public:
  static constexpr std::size_t kMax = 32768;

  struct Bin {
    std::int64_t allowed = 0, denied = 0;
    bool operator==(const Bin&) const = default;
  };

  Timeline() = default;
  /// `zero` is by default the beginning.
  explicit Timeline(std::optional<microseconds> zero) : zero_(zero) {}

  /// Sets the beginning; by default, the time of the first request.
  void begin_at(microseconds at);
  /// Adds requests, or units, in any order, but nothing before the beginning.
  void add(microseconds at, bool allowed, std::int64_t count = 1);

  microseconds zero() const noexcept { return zero_.value_or(begin_); }
  microseconds begin() const noexcept { return begin_; }
  microseconds end() const noexcept { return end_; }  ///< the latest request
  /// The beginning of the first bin.
  microseconds first() const noexcept { return first_; }
  microseconds width() const noexcept { return width_; }
  const std::vector<Bin>& bins() const noexcept { return bins_; }

  /// The requests in `count` columns of a chart: the first column is [from, from + width), and so
  /// on. A bin counts in the column in which it begins.
  std::vector<Bin> columns(microseconds from, microseconds width, std::size_t count) const;

 private:
  microseconds bin_before(microseconds at) const;
  void widen();

  std::optional<microseconds> zero_;
  microseconds begin_{0}, end_{0}, first_{0}, width_{1};
  std::size_t widened_ = 0;  ///< how often
  std::vector<Bin> bins_;
};

// ---- The outcome of a run ----

/// What a script replied, for a hint on how its replies are read.
struct RepliesSeen {
  static constexpr std::size_t kMax = 3;

  /// What every reply would mean if it were read in another way.
  class OtherReading {
   public:
    void add(const traffic::Arrival& arrival, bool allowed);
    /// Whether a limiter may give these decisions: it allows the first request of every key, denies
    /// none that fits the limit, and denies one within a window before a multiple of the limit.
    bool fits(const limiter::Limit& limit) const;
    bool is_possible() const { return is_possible_; }

   private:
    /// The requests of a key up to its first denial.
    struct Key {
      microseconds begin{0};
      std::int64_t cost = 0;   ///< of the first request
      std::int64_t units = 0;  ///< of all, the denied one included
      bool is_denied = false;
    };
    std::unordered_map<std::uint32_t, Key> keys_ = {};
    bool is_possible_ = true;
    /// The fewest units up to and with the first denial of a key, and the shortest time until then.
    /// Only denials of what costs as much as the key's first request count; 0 without any.
    std::int64_t fewest_ = 0;
    microseconds soonest_{0};
  };

  std::vector<std::string> first = {};  ///< as reply_text(), at most kMax
  std::int64_t replies = 0;
  bool all_nil = true;
  OtherReading as_read = {};   ///< as the replies are read
  OtherReading inverted = {};  ///< each reply means the opposite
  /// Conditions that the first reply suggests and that can read all replies, with what these then
  /// mean.
  std::vector<std::pair<script::ReplyExpression, OtherReading>> others = {};

  /// `allowed`: what the reply means as it is read. Without a limit there are no others.
  void add(redis::ReplyView reply, const traffic::Arrival& arrival, bool allowed,
           const limiter::Limit* limit);

 private:
  void add_others(redis::ReplyView reply);
};

/// The results of one candidate.
struct Outcome {
  Measured measured = {};
  std::vector<KeyDenied> top_denied = {};  ///< at most ten
  Timeline timeline = {};                  ///< the requests, by arrival time
  /// The allowed units, by the time when they may proceed, after their delays: those that proceed
  /// while requests arrive.
  Timeline departures = {};
  /// The units that proceed after the last request, and when the last of them does.
  DelayedRequest later = {.cost = 0};
  /// The memory of a key in Redis at the end of the traffic, on average over the keys that exist
  /// then; std::nullopt without a server.
  std::optional<double> bytes_per_key = {};
  std::optional<Pace> pace = {};  ///< under the real clock, if anything was sent
  RepliesSeen replies = {};       ///< empty without a script
  bool was_stalled = false;       ///< see Decider::was_stalled()
  bool interrupted = false;       ///< covers only the beginning of the traffic
};

/// Called for each request with its decision, in order.
using OnDecision = std::function<void(const traffic::Arrival&, const limiter::Decision&)>;
/// Called at least a few times a second with the number of requests decided.
using OnProgress = std::function<void(std::int64_t)>;

/// Builds an outcome from decisions, which must be added in time order.
class OutcomeRecorder {
 public:
  /// `on_decision`, which may be empty, must outlive this. `zero`: see Timeline.
  OutcomeRecorder(const std::vector<limiter::Limit>& limits, const OnDecision& on_decision,
                  bool compares_reports, std::optional<microseconds> zero)
      : measurement_(limits), timeline_(zero), departures_(zero), on_decision_(on_decision) {
    if (!compares_reports) measurement_.ignore_reports();
    measurement_.note_departures(departures_);
  }
  OutcomeRecorder(const OutcomeRecorder&) = delete;
  OutcomeRecorder& operator=(const OutcomeRecorder&) = delete;

  void add(const traffic::Arrival& arrival, const limiter::Decision& decision) {
    if (departures_.bins().empty()) departures_.begin_at(arrival.at);
    measurement_.add(arrival, decision);
    timeline_.add(arrival.at, decision.allowed);
    if (on_decision_) on_decision_(arrival, decision);
  }
  /// The outcome of all added decisions. Call this once. `waits`: until all delayed units have
  /// proceeded, so that none proceeds later.
  Outcome finish(bool waits = false);

 private:
  static constexpr std::size_t kTopDenied = 10;

  Measurement measurement_;
  Timeline timeline_, departures_;
  const OnDecision& on_decision_;
};

}  // namespace rlctl::simulation
