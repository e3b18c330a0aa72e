#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/number.h"
#include "limiter/limit.h"

// A model of each algorithm in C++. `burst` replays logs and tries schedules with it instead of a
// server, src/stored/forms.cc loads what a server stores into it and asks it for figures, and
// tests compare each script with it, decision by decision.

namespace rlctl::limiter {

/// How much of a limit is used at an instant. For a bucket, the tokens missing from a full one; for
/// a queue, how far ahead it reaches, in units.
struct Usage {
  std::int64_t units = 0;  ///< rounded up; above the limit if the limit was lowered
  double exact = 0;        ///< not rounded, for display; equal if units are whole
};

/// The state of one key under one algorithm. Each model is written to be obviously right;
/// rlctl-scripts(7) defines the semantics. Times are µs since 1970 and never negative.
class KeyModel {
 public:
  virtual ~KeyModel() = default;

  /// The reply to a request of this cost (>= 0); records nothing. A cost of 0 is always allowed.
  /// remaining and reset_after describe the state before any recording.
  virtual Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const = 0;
  /// How much is used at `now`, even if that exceeds the limit.
  virtual Usage usage(const Limit& limit, microseconds now) const = 0;
  /// Records a request that peek() allowed.
  virtual void record(const Limit& limit, std::int64_t cost, microseconds now) = 0;
  /// Refunds `units` (>= 1).
  virtual void refund(const Limit& limit, std::int64_t units, microseconds now) = 0;
  /// True if the key would not exist in Redis.
  virtual bool empty() const = 0;
  virtual std::unique_ptr<KeyModel> clone() const = 0;
};

/// A key of a request with its limit. Does not own the model.
struct KeyAndLimit {
  KeyModel* key = nullptr;
  Limit limit;
};

/// One decision about several keys, as a script makes it: if all keys allow the request, it is
/// recorded for all, else for none. A cost of 0 only peeks, a negative cost refunds. Throws
/// UsageError for a window that is shorter than kShortestWindow.
Decision decide(std::span<const KeyAndLimit> keys, std::int64_t cost, microseconds now);

/// Adds the decision about key `number`, from 1, to that about the keys before it, which is at
/// first allowed with INT64_MAX remaining.
void merge(Decision& merged, const Decision& one, int number);

// ---- The algorithms ----

/// What the class Model, which stores one value, has in common with the others; std::nullopt if the
/// key would not exist.
template <typename Model, typename Stored>
class StoredModel : public KeyModel {
 public:
  StoredModel() = default;
  /// Starts with stored state.
  explicit StoredModel(const Stored& stored) : stored_(stored) {}
  bool empty() const override { return !stored_; }
  std::unique_ptr<KeyModel> clone() const override {
    return std::make_unique<Model>(static_cast<const Model&>(*this));
  }

 protected:
  std::optional<Stored> stored_;
};

/// A window and its count.
struct FixedWindowFrame {
  microseconds start, window;
  std::int64_t count = 0;
  microseconds end() const { return start + window; }
};

/// fixed-window: one counter, set to 0 at every multiple of the window since 1970. Up to twice the
/// limit passes around such an edge, a known weakness.
///
/// If windows change, the count stays. If the window of an allowed request ends later than the one
/// in force, it takes its place; a window that ends earlier begins when the one in force has ended.
class FixedWindowModel final : public StoredModel<FixedWindowModel, FixedWindowFrame> {
 public:
  using StoredModel::StoredModel;

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  FixedWindowFrame frame_at(const Limit& limit, microseconds now) const;
};

/// sliding-window-log, and sliding-window-zset, which differs only in its Redis type: the time of
/// every allowed unit. Exact: no span of one window ever holds more than the limit.
///
/// A key whose TTL shows that a longer window counts its units too is shared: an allowed call then
/// drops no more units that have left its own window than it adds. The model's TTL does not run
/// down, as on a server that all calls reach at one instant, whatever their `now`.
class SlidingWindowLogModel final : public KeyModel {
 public:
  SlidingWindowLogModel();

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  std::unique_ptr<KeyModel> clone() const override {
    return std::make_unique<SlidingWindowLogModel>(*this);
  }
  bool empty() const override { return times().empty(); }

 private:
  /// `now`, or the newest unit's time if the clock has stepped back before it.
  std::int64_t key_time_us(microseconds now) const;
  /// The number of units at the front that are older than a window that ends at the key's time.
  std::size_t expired(const Limit& limit, microseconds now) const;
  void prune(std::size_t units);
  /// Whether the TTL is longer than a request of this limit would set it.
  bool is_shared(const Limit& limit, microseconds now) const;
  /// Makes the TTL long enough.
  void keep(const Limit& limit, microseconds now);

  /// The time of each unit in µs, oldest first.
  std::span<const std::int64_t> times() const { return std::span(times_us_).subspan(first_); }

  // Units before first_ have been pruned. (A deque would take 600 bytes for one entry, too much for
  // many keys.)
  std::vector<std::int64_t> times_us_;
  std::size_t first_ = 0;
  std::int64_t ttl_ms_ = 0;
};

/// A window, its count, and the count of the previous window.
struct CounterFrame {
  microseconds start, window;
  std::int64_t previous = 0;
  std::int64_t current = 0;

  microseconds end() const { return start + window; }
  CounterFrame next() const {
    return {.start = end(), .window = window, .previous = current, .current = 0};
  }
  /// The estimate at `t`, within this frame, including a request of this cost.
  double with(std::int64_t cost, microseconds t) const;
  /// The number of successive requests of cost 1 that are allowed at `t`.
  std::int64_t remaining(std::int64_t limit, microseconds t) const;
  /// The first instant in [from, until), within this frame, at which the cost is allowed; end() if
  /// there is none.
  microseconds first_allowed(std::int64_t limit, std::int64_t cost, microseconds from,
                             microseconds until) const;
};

/// sliding-window-counter: the counts of this window and of the previous one, whose units are
/// assumed to be spread evenly, so that its weight falls as this window advances (Cloudflare,
/// 2017). An estimate: almost twice the limit passes in the worst case.
///
/// If windows change, the counts stay. If the window of a call ends later than the one in force,
/// the sum of both counts is the current one of that window, and an allowed request stores it so.
class SlidingWindowCounterModel final
    : public StoredModel<SlidingWindowCounterModel, CounterFrame> {
 public:
  using StoredModel::StoredModel;

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  CounterFrame frame_at(const Limit& limit, microseconds now) const;
  CounterFrame extended(const Limit& limit, microseconds now) const;
  std::optional<std::int64_t> carried_into_shorter(const Limit& limit, microseconds now) const;
};

/// The tokens at an instant, in a bucket of the limit's burst that refills at its rate. Nothing is
/// stored for a full bucket.
struct TokenBucket {
  double tokens = 0;
  microseconds at;
  Limit limit = {};

  /// The tokens at `t`, which must not precede `at`.
  double tokens_at(microseconds t) const;
  /// The first whole µs, not before `from`, at which it holds `cost` tokens, at most the burst.
  microseconds first_with(std::int64_t cost, microseconds from) const;
};

/// token-bucket: holds at most `burst` tokens; `limit` tokens come back in each window, and a
/// request takes its cost. Computes with doubles, like the script; gcra is exact.
///
/// If limits change, it agrees with gcra: as many tokens are missing from the bucket of the call as
/// from the stored one, and they come back at the stored rate until a request is allowed.
class TokenBucketModel final : public StoredModel<TokenBucketModel, TokenBucket> {
 public:
  using StoredModel::StoredModel;

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  TokenBucket bucket_at(const Limit& limit, microseconds now) const;
};

/// `numerator / denominator`, rounded up; the denominator is positive.
constexpr Wide ceil_div(Wide numerator, Wide denominator) {
  return numerator / denominator + (numerator % denominator > 0 ? 1 : 0);
}

/// An exact time: `parts` units of 1/`per_us` µs. In units of 1/limit µs the time of one unit of
/// cost, window/limit µs, is the integer `window`.
struct RationalTime {
  Wide parts = 0;
  std::int64_t per_us = 1;

  /// The time in units of 1/`limit` µs, rounded up, so that a new limit never opens a limiter.
  constexpr Wide parts_for(std::int64_t limit) const {
    return limit == per_us ? parts : ceil_div(parts * limit, per_us);
  }
};

/// Convert an instant or a span to units of 1/limit µs, and back, rounded up.
constexpr Wide to_parts(microseconds time, std::int64_t limit) {
  return Wide{time.count()} * limit;
}
constexpr microseconds to_us_rounded_up(Wide parts, std::int64_t limit) {
  return microseconds{static_cast<std::int64_t>(ceil_div(parts, limit))};
}

/// The units of cost that come back in this time, given in 1/limit µs; at most INT64_MAX.
constexpr Usage units_of(Wide parts, const Limit& limit) {
  const auto units = ceil_div(parts, limit.window.count());
  return {.units = units > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(units),
          .exact = static_cast<double>(parts) / static_cast<double>(limit.window.count())};
}

/// A theoretical arrival time, and the limit of the request that stored it.
struct ArrivalTime {
  RationalTime time;
  std::optional<Limit> limit = {};  ///< none if it is unknown: that of each call then applies
};

/// gcra: the generic cell rate algorithm (ITU-T I.371, virtual scheduling). Stores the theoretical
/// arrival time, at which the bucket would be full again, and the limit.
///
/// If limits change, used units stay used: they come back at the stored rate until a request is
/// allowed, which stores the limit of its call. If the rate differs, the units are then rounded up
/// to whole ones, which come back at the new rate.
class GcraModel final : public StoredModel<GcraModel, ArrivalTime> {
 public:
  using StoredModel::StoredModel;

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  /// The limit at whose rate units come back: the stored one, or else this one.
  Limit rate(const Limit& limit) const;
  /// How far the theoretical arrival time is ahead of `now`, in 1/rate µs; never below 0.
  Wide ahead(const Limit& rate, microseconds now) const;
  /// Stores an arrival time that is this far ahead of `now`, and the limit.
  void set_ahead(const Limit& limit, Wide ahead, microseconds now);
};

/// leaky-bucket: the leaky bucket as a queue (Turner, 1986): requests leave one by one,
/// window/limit apart, and each reply contains the delay. Stores only the last departure.
class LeakyBucketModel final : public StoredModel<LeakyBucketModel, RationalTime> {
 public:
  using StoredModel::StoredModel;

  Decision peek(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  /// A place in the queue cannot be given back: throws UsageError.
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  /// How long the next request waits, in 1/limit µs; never below 0.
  Wide wait(const Limit& limit, microseconds now) const;
};

}  // namespace rlctl::limiter
