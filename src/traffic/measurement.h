#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limiter/decision.h"
#include "limiter/limit.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

/// The most units that were allowed within any span of one window, which is what a limit bounds:
/// measured on what happened, not on what a limiter reports. A span holds what came less than one
/// window after its beginning. For one key; memory grows with the contents of a window.
class WorstWindow {
 public:
  explicit WorstWindow(microseconds window) : window_(window) {}

  /// Times never go back.
  void allow(microseconds at, std::int64_t cost);

  [[nodiscard]] std::int64_t allowed() const noexcept { return most_; }
  /// The first span that held that many: its first unit, and the time from that to the last.
  [[nodiscard]] microseconds from() const noexcept { return from_; }
  [[nodiscard]] microseconds span() const noexcept { return span_; }

 private:
  struct Units {
    microseconds at;
    std::int64_t count;
  };
  void forget_before(microseconds at);

  microseconds window_;
  // Oldest first; the window begins at first_. (A deque takes blocks of 512 bytes, which is a lot
  // with many keys.)
  std::vector<Units> recent_;
  std::size_t first_ = 0;
  std::int64_t in_window_ = 0;
  std::int64_t most_ = 0;
  microseconds from_{0}, span_{0};
};

/// The most that was allowed within one window, and when; of equals the first limit's, and of these
/// the first key's. A request that is allowed with a delay counts when it may go on.
struct Worst {
  std::int64_t allowed = 0;  ///< units
  double ratio = 0;          ///< to the limit: 1 if it was just kept
  std::size_t limit = 0;     ///< the index of the limit
  std::uint32_t key = 0;
  microseconds from{0};  ///< the first unit
  microseconds span{0};  ///< from the first to the last
};

/// Whether retry_after was right, as far as later requests show. From the first denial of a key
/// until it is allowed again, each denial promises an instant (kNever promises none). A promise is
/// kept if requests before that instant were denied and the first request at it or later was
/// allowed. Requests with another cost than the first denied one prove nothing; one of them that is
/// allowed ends the comparison.
struct RetryError {
  /// How often a key was denied and then allowed again, or had a promise broken before the traffic
  /// ended.
  std::int64_t compared = 0;
  std::int64_t broken = 0;    ///< of these, how often a promise was broken
  microseconds too_early{0};  ///< the longest after a promised instant that a key was denied
  microseconds too_late{0};   ///< the longest before a promised instant that a key was allowed
};

/// A minute of the clock, as monitoring counts.
struct Minute {
  microseconds from{0};               ///< since 1970, a multiple of 60 s
  std::int64_t sent = 0, denied = 0;  ///< requests

  bool operator==(const Minute&) const = default;
};

struct KeyDenied {
  std::uint32_t key = 0;
  std::int64_t denied = 0;
};

/// How a limiter treated a traffic.
struct Measured {
  std::int64_t sent = 0, allowed = 0, denied = 0;  ///< requests
  std::int64_t keys = 0, keys_denied = 0;          ///< asked for; denied at least once
  Worst worst;
  std::optional<microseconds> first_denial;  ///< since 1970
  /// The longest time for which a key was denied everything: from a denial until the next allowed
  /// request, or until the key's last one.
  microseconds longest_shut_out{0};
  microseconds longest_delay{0};  ///< of an allowed request
  RetryError retry_error;
  /// The minute with the most denials, of equals the first; none without denials.
  std::optional<Minute> worst_minute = {};
};

/// Takes the decisions about a traffic one by one. Memory grows with the number of keys and the
/// contents of their windows.
class Measurement {
 public:
  explicit Measurement(std::vector<limiter::Limit> limits) : limits_(std::move(limits)) {}

  void add(const Arrival& arrival, const limiter::Decision& decision);
  [[nodiscard]] Measured result() const;
  /// The keys with the most denials, in descending order; of equals the lower number first.
  [[nodiscard]] std::vector<KeyDenied> most_denied(std::size_t count) const;

 private:
  /// The denials of a key since it was last allowed.
  struct Denials {
    microseconds first{0}, last{0};
    std::int64_t cost = 1;  ///< of the first
    /// Of the denials with that cost; none if all of them were for ever.
    std::optional<microseconds> earliest_promise = {}, latest_promise = {};
    bool broken = false;  ///< a promise
  };
  /// A request that was allowed with a delay, and may go on later than those after it.
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
  std::vector<WorstWindow> windows_;  ///< one for each key and limit, by key
  /// The delayed requests that have not gone on, by key: a heap, the earliest on top.
  std::unordered_map<std::uint32_t, std::vector<Departure>> departures_;
  Measured measured_;  ///< its worst minute is the worst of the finished ones
  Minute minute_;      ///< of the latest request
};

}  // namespace rlctl::traffic
