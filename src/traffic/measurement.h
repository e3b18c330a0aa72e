#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limiter/decision.h"
#include "limiter/limit.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// The most units that were allowed within any span of one window: what a limit is about, measured
/// on what happened and not on what a limiter says of itself. A span holds what came less than one
/// window after its beginning. Of one key; memory grows with what one window holds.
class WorstWindow {
 public:
  explicit WorstWindow(microseconds window) : window_(window) {}

  /// Times never go back.
  void allow(microseconds at, std::int64_t cost);

  [[nodiscard]] std::int64_t allowed() const noexcept { return most_; }
  /// The first span that held so many: from its first unit, to its last.
  [[nodiscard]] microseconds from() const noexcept { return from_; }
  [[nodiscard]] microseconds span() const noexcept { return span_; }

 private:
  struct Units {
    microseconds at;
    std::int64_t count;
  };
  void forget_before(microseconds at);

  microseconds window_;
  // Oldest first; what counts begins at first_. (A deque has its entries in blocks of 512 bytes,
  // which is much where there are many keys.)
  std::vector<Units> recent_;
  std::size_t first_ = 0;
  std::int64_t in_window_ = 0;
  std::int64_t most_ = 0;
  microseconds from_{0}, span_{0};
};

/// The most that was allowed within one window, and where; of equals that of the first limit, and
/// of its first key. What was allowed with a delay counts when it may go on.
struct Worst {
  std::int64_t allowed = 0;  ///< units
  double ratio = 0;          ///< of the limit: 1 where it was just kept
  std::size_t limit = 0;     ///< which of the limits this is about
  std::uint32_t key = 0;
  microseconds from{0};  ///< the first unit
  microseconds span{0};  ///< from the first to the last
};

/// Whether retry_after told the truth, as far as what then happened shows it. From the first denial
/// of a key until it is allowed again, each denial promises an instant (kNever promises none).
/// Nothing contradicts a promise where requests were denied before that instant and the first that
/// came at it or later was allowed. Requests of another cost than the first one denied say nothing
/// about it; one of them that is allowed ends the comparison.
struct RetryError {
  /// Times that a key was denied and then allowed again; also, where the traffic ended before that,
  /// if a promise had been contradicted by then.
  std::int64_t compared = 0;
  std::int64_t broken = 0;    ///< of these, how often a promise was contradicted
  microseconds too_early{0};  ///< denied still, at most so long after the promised instant
  microseconds too_late{0};   ///< allowed already, at most so long before it
};

/// One of the clock's, as monitoring counts by.
struct Minute {
  microseconds from{0};               ///< since 1970, a multiple of 60 s
  std::int64_t sent = 0, denied = 0;  ///< requests

  bool operator==(const Minute&) const = default;
};

struct KeyDenied {
  std::uint32_t key = 0;
  std::int64_t denied = 0;
};

/// What a limiter made of a traffic.
struct Measured {
  std::int64_t sent = 0, allowed = 0, denied = 0;  ///< requests
  std::int64_t keys = 0, keys_denied = 0;          ///< that were asked for; denied at least once
  Worst worst;
  std::optional<microseconds> first_denial;  ///< since 1970
  /// The longest time for which everything of one key was denied: from a denial until the next
  /// request that was allowed, or until the last one.
  microseconds longest_shut_out{0};
  microseconds longest_delay{0};  ///< of what was allowed, before it may go on
  RetryError retry_error;
  /// In which most requests were denied, of equals the first; none where none was.
  std::optional<Minute> worst_minute = {};
};

/// Takes the decisions about a traffic one by one. Memory grows with the number of keys and with
/// what one window of each holds.
class Measurement {
 public:
  explicit Measurement(std::vector<limiter::Limit> limits) : limits_(std::move(limits)) {}

  void add(const Arrival& arrival, const limiter::Decision& decision);
  [[nodiscard]] Measured result() const;
  /// The keys denied most, the most denied first; of equals the lower number first.
  [[nodiscard]] std::vector<KeyDenied> most_denied(std::size_t count) const;

 private:
  /// What has been denied to a key since it was last allowed.
  struct Denials {
    microseconds first{0}, last{0};
    std::int64_t cost = 1;  ///< of the first
    /// Of those of that cost; none where all of them were for ever.
    std::optional<microseconds> earliest_promise = {}, latest_promise = {};
    bool broken = false;  ///< a promise was
  };
  /// What was allowed with a delay, and may go on later than what comes after it.
  struct Departure {
    microseconds at{0};
    std::int64_t cost = 1;
  };
  struct Key {
    bool asked = false;
    std::int64_t denied = 0;
    std::optional<Denials> denials;
  };
  Key& key(std::uint32_t number);
  void deny(Key& key, const Arrival& arrival, const limiter::Decision& decision);
  void end_denials(Key& key, const Arrival& allowed);
  void count_minute(microseconds at, bool allowed);
  void go_on(const Arrival& arrival, microseconds delay);
  void allow(std::uint32_t key, const Departure& departure);
  [[nodiscard]] Measurement with_all_gone_on() const;
  [[nodiscard]] Worst worst() const;

  std::vector<limiter::Limit> limits_;
  std::vector<Key> keys_;
  std::vector<WorstWindow> windows_;  ///< of each key in turn, one for each limit
  /// Of keys of which something is still to go on: a heap, the earliest on top.
  std::unordered_map<std::uint32_t, std::vector<Departure>> departures_;
  Measured measured_;  ///< its worst minute is that of those that are over
  Minute minute_;      ///< of the latest request
};

}  // namespace rlctl::traffic
