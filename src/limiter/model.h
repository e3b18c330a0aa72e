#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "limiter/decision.h"
#include "limiter/limit.h"

namespace rlctl::limiter {

/// How much of a limit counts at an instant. For buckets it is what is missing from a full one; for
/// a queue, how far it reaches ahead, in units.
struct Usage {
  std::int64_t units = 0;  ///< rounded up; above the limit if that has been lowered
  double exact = 0;        ///< not rounded, for display; the same if units are whole
};

/// What one key holds under one algorithm, in plain C++: the oracle against which the scripts are
/// tested, and the limiter of large replays. Written to be obviously right; the semantics are those
/// of rlctl-scripts(7). Times are µs since 1970, none before the year 1970.
class KeyModel {
 public:
  virtual ~KeyModel() = default;

  /// What a request of this cost (>= 0) would be answered; records nothing. A cost of 0 is always
  /// allowed. remaining and reset_after are those of the state as it is, before any recording.
  [[nodiscard]] virtual Decision look(const Limit& limit, std::int64_t cost,
                                      microseconds now) const = 0;
  /// How much counts at `now`: what a limit of more than that would leave over.
  [[nodiscard]] virtual Usage usage(const Limit& limit, microseconds now) const = 0;
  /// Records a request that look() allowed.
  virtual void record(const Limit& limit, std::int64_t cost, microseconds now) = 0;
  /// Gives back `units` (>= 1).
  virtual void refund(const Limit& limit, std::int64_t units, microseconds now) = 0;
  /// True if the key would not exist in Redis.
  [[nodiscard]] virtual bool empty() const = 0;
};

struct KeyAndLimit {
  KeyModel* key = nullptr;
  Limit limit;
};

/// One decision over several keys, as a script makes it: all allow and all record, or none. A cost
/// of 0 looks, below 0 refunds.
[[nodiscard]] Decision decide(std::span<const KeyAndLimit> keys, std::int64_t cost,
                              microseconds now);

// Doubles are what the scripts compute in.
[[nodiscard]] inline double as_double(std::int64_t value) {
  return static_cast<double>(value);
}
[[nodiscard]] inline double as_double(microseconds value) {
  return static_cast<double>(value.count());
}

// ---- The algorithms ----

/// A model that keeps one value: none if the key would not exist.
template <typename Stored>
class StoredModel : public KeyModel {
 public:
  StoredModel() = default;
  /// With stored state.
  explicit StoredModel(const Stored& stored) : stored_(stored) {}
  [[nodiscard]] bool empty() const override { return !stored_; }

 protected:
  std::optional<Stored> stored_;
};

/// A window and its count.
struct FixedWindowFrame {
  microseconds start, window;
  std::int64_t count = 0;
  [[nodiscard]] microseconds end() const { return start + window; }
};

/// fixed-window: one counter, set to 0 at every multiple of the window since 1970. Twice the limit
/// passes around such an edge, which is what it is known for.
class FixedWindowModel final : public StoredModel<FixedWindowFrame> {
 public:
  using StoredModel::StoredModel;

  Decision look(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  [[nodiscard]] FixedWindowFrame frame_at(const Limit& limit, microseconds now) const;
};

/// sliding-window-log, and sliding-window-zset, which differs only in what it is stored in: the
/// time of every allowed unit. Exact: no span of one window ever holds more than the limit.
class SlidingWindowLogModel final : public KeyModel {
 public:
  Decision look(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;
  bool empty() const override { return times().empty(); }

 private:
  /// `now`, or the newest unit's time if the clock has stepped back before it.
  [[nodiscard]] std::int64_t key_time_us(microseconds now) const;
  /// How many units at the front a window that ends at the key's time has left behind.
  [[nodiscard]] std::size_t expired(const Limit& limit, microseconds now) const;
  void prune(std::size_t units);

  /// Of each unit, oldest first.
  [[nodiscard]] std::span<const std::int64_t> times() const {
    return std::span(times_us_).subspan(first_);
  }

  // What counts begins at first_. (A deque takes 600 bytes for one entry, which is too much for
  // many keys.)
  std::vector<std::int64_t> times_us_;
  std::size_t first_ = 0;
};

/// A window, its count and that of the window before.
struct CounterFrame {
  microseconds start, window;
  std::int64_t previous = 0;
  std::int64_t current = 0;

  [[nodiscard]] microseconds end() const { return start + window; }
  [[nodiscard]] CounterFrame next() const {
    return {.start = end(), .window = window, .previous = current, .current = 0};
  }
  /// The estimate at `t`, in this frame: what a request of this cost makes of it.
  [[nodiscard]] double with(std::int64_t cost, microseconds t) const;
  /// How many requests of cost 1 are allowed at `t`, one after the other.
  [[nodiscard]] std::int64_t remaining(std::int64_t limit, microseconds t) const;
  /// The first instant in [from, end) at which the cost is allowed; end() if there is none.
  [[nodiscard]] microseconds first_allowed(std::int64_t limit, std::int64_t cost,
                                           microseconds from) const;
};

/// sliding-window-counter: the counts of this window and of the one before, which is taken to have
/// been spread evenly and fades out as this one goes on (Cloudflare's, 2017). An estimate: up to
/// almost twice the limit passes in the worst case.
class SlidingWindowCounterModel final : public StoredModel<CounterFrame> {
 public:
  using StoredModel::StoredModel;

  Decision look(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  [[nodiscard]] CounterFrame frame_at(const Limit& limit, microseconds now) const;
};

/// The tokens at an instant. None is stored of a full bucket.
struct TokenBucket {
  double tokens = 0;
  microseconds at;

  /// What it holds at `t`, not before `at`.
  [[nodiscard]] double tokens_at(const Limit& limit, microseconds t) const;
  /// The first whole µs, not before `from`, at which it holds `cost` tokens, at most a full
  /// bucket.
  [[nodiscard]] microseconds first_with(const Limit& limit, std::int64_t cost,
                                        microseconds from) const;
};

/// token-bucket: `burst` tokens at most, `limit` of them come back in each window, a request takes
/// its cost. In doubles, as the script; gcra is exact.
class TokenBucketModel final : public StoredModel<TokenBucket> {
 public:
  using StoredModel::StoredModel;

  Decision look(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  [[nodiscard]] TokenBucket bucket_at(const Limit& limit, microseconds now) const;
};

/// Wide enough for any time of the contract in units of 1/limit µs, and for that times a limit.
__extension__ typedef __int128 Wide;

/// `numerator / denominator`, rounded up; the denominator is positive.
[[nodiscard]] constexpr Wide ceil_div(Wide numerator, Wide denominator) {
  return numerator / denominator + (numerator % denominator > 0 ? 1 : 0);
}

/// A time kept exactly: `parts` units of 1/`per_us` µs. In units of 1/limit µs the time of one unit
/// of cost, window/limit µs, is the whole number `window`.
struct RationalTime {
  Wide parts = 0;
  std::int64_t per_us = 1;

  /// The same time, or the next that units of 1/`limit` µs have: a new limit never opens a limiter.
  [[nodiscard]] constexpr Wide parts_for(std::int64_t limit) const {
    return limit == per_us ? parts : ceil_div(parts * limit, per_us);
  }
};

/// An instant or a span in units of 1/limit µs, and back, rounded up.
[[nodiscard]] constexpr Wide to_parts(microseconds time, std::int64_t limit) {
  return Wide{time.count()} * limit;
}
[[nodiscard]] constexpr microseconds to_us_rounded_up(Wide parts, std::int64_t limit) {
  return microseconds{static_cast<std::int64_t>(ceil_div(parts, limit))};
}

/// How many units of cost come back in this time, in 1/limit µs; at most INT64_MAX.
[[nodiscard]] constexpr Usage units_of(Wide parts, const Limit& limit) {
  const auto units = ceil_div(parts, limit.window.count());
  return {.units = units > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(units),
          .exact = static_cast<double>(parts) / static_cast<double>(limit.window.count())};
}

/// gcra: the generic cell rate algorithm (ITU-T I.371, the virtual scheduling form): the time at
/// which the bucket would be full again, the theoretical arrival time, is all that is kept.
class GcraModel final : public StoredModel<RationalTime> {
 public:
  using StoredModel::StoredModel;

  Decision look(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  /// How far the theoretical arrival time is ahead of `now`, in 1/limit µs; never below 0.
  [[nodiscard]] Wide ahead(const Limit& limit, microseconds now) const;
  /// Keeps a time that far ahead.
  void set_ahead(const Limit& limit, Wide ahead, microseconds now);
};

/// leaky-bucket: the leaky bucket as a queue (Turner, 1986): requests leave one by one,
/// window/limit apart, and each is told how long it has to wait. Only the last departure is kept.
class LeakyBucketModel final : public StoredModel<RationalTime> {
 public:
  using StoredModel::StoredModel;

  Decision look(const Limit& limit, std::int64_t cost, microseconds now) const override;
  Usage usage(const Limit& limit, microseconds now) const override;
  void record(const Limit& limit, std::int64_t cost, microseconds now) override;
  /// A place in the queue cannot be given back: throws UsageError.
  void refund(const Limit& limit, std::int64_t units, microseconds now) override;

 private:
  /// How long the next to come waits, in 1/limit µs; never below 0.
  [[nodiscard]] Wide wait(const Limit& limit, microseconds now) const;
};

}  // namespace rlctl::limiter
