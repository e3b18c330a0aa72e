#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "limiter/decision.h"
#include "limiter/limit.h"
#include "redis/reply.h"
#include "traffic/measurement.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

using std::chrono::nanoseconds;

/// Counts durations from 0 to an hour, in buckets whose widths are at most 1/1024 of the durations
/// in them, so that percentiles have three digits; longer durations count as an hour, negative ones
/// as 0. Memory grows with the longest duration, to 270 KB. After Gil Tene's HdrHistogram.
class Histogram {
 public:
  void add(nanoseconds duration);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  // Exact; 0 if there are no durations.
  [[nodiscard]] nanoseconds min() const noexcept;
  [[nodiscard]] nanoseconds max() const noexcept;
  [[nodiscard]] double mean_ns() const noexcept;
  [[nodiscard]] double stdev_ns() const noexcept;
  /// The duration that `percent` (above 0, below 100, in whole thousandths) of all do not exceed:
  /// the longest of its bucket, or max(). None if fewer than kBeyond durations rank above it, which
  /// are too few for a percentile.
  [[nodiscard]] std::optional<nanoseconds> percentile(double percent) const;

  static constexpr std::int64_t kBeyond = 10;

 private:
  std::vector<std::int64_t> buckets_;  ///< up to the longest duration
  std::int64_t count_ = 0;
  std::int64_t min_ns_ = INT64_MAX, max_ns_ = 0;
  Wide sum_ns_ = 0, sum_of_squares_ = 0;
};

/// The times and rates of a run under the real clock, as the sender sees them. On a schedule, n
/// requests within t are a rate of (n - 1) / t, since the gaps count; without one, n / t.
struct Timing {
  /// A sender or server that reaches this share of the rate has kept up.
  static constexpr double kKeptUp = 0.99;

  Histogram service = {};   ///< from sending a request to its answer
  Histogram response = {};  ///< from when a request was due to its answer; empty without a schedule
  Histogram lag = {};       ///< from when a request was due to sending it; empty without a schedule
  double seconds = 0;       ///< from the first send to the last answer
  double offered_per_second = 0;  ///< as scheduled; 0 without a schedule, or if all are due at once
  double sent_per_second = 0;     ///< from the first send to the last; 0 without a schedule
  double achieved_per_second = 0;  ///< answers within `seconds`
  /// The server's own time per call of the script; none if the server does not report it, or if
  /// other clients called scripts meanwhile.
  std::optional<double> server_us_per_call = {};

  /// Whether the sender kept to the schedule, so that the times are the server's: the p99 of the
  /// lag is at most a tenth of the p99 of service (the maxima, if there are too few for a
  /// percentile), and the sender reached 99 % of the offered rate. True without a schedule. (If the
  /// server does not keep up, response times grow as long as the traffic lasts; that is valid.)
  [[nodiscard]] bool is_valid() const;
};

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
  /// In any order, but none before the beginning. `count`: requests or units.
  void add(microseconds at, bool allowed, std::int64_t count = 1);

  [[nodiscard]] microseconds zero() const noexcept { return zero_.value_or(begin_); }
  [[nodiscard]] microseconds begin() const noexcept { return begin_; }
  [[nodiscard]] microseconds end() const noexcept { return end_; }  ///< the latest request
  /// The beginning of the first bin.
  [[nodiscard]] microseconds first() const noexcept { return first_; }
  [[nodiscard]] microseconds width() const noexcept { return width_; }
  [[nodiscard]] const std::vector<Bin>& bins() const noexcept { return bins_; }

  /// The same in `count` columns of a chart: the first is [from, from + width), and so on. A bin
  /// counts in the column in which it begins.
  [[nodiscard]] std::vector<Bin> columns(microseconds from, microseconds width,
                                         std::size_t count) const;

 private:
  [[nodiscard]] microseconds bin_before(microseconds at) const;
  void widen();

  std::optional<microseconds> zero_;
  microseconds begin_{0}, end_{0}, first_{0}, width_{1};
  std::size_t widened_ = 0;  ///< how often
  std::vector<Bin> bins_;
};

/// What a script replied, for a hint on how its replies are read.
struct RepliesSeen {
  static constexpr std::size_t kMax = 3;

  std::vector<std::string> first = {};  ///< as reply_text(), at most kMax
  bool all_nil = true;
  bool any_negative = false;  ///< a whole number, or the first element of an array
  bool all_count = true;      ///< each is a number that is above 0, as INCR replies it
  std::int64_t highest = 0;   ///< of these

  void add(redis::ReplyView reply);
};

/// The results of one candidate.
struct Outcome {
  Measured measured = {};
  std::vector<KeyDenied> top_denied = {};  ///< at most ten
  Timeline timeline = {};                  ///< of the requests, by arrival time
  /// Of the allowed units, by the time when they may proceed, after their delays.
  Timeline departures = {};
  /// At the end of the traffic, on average over the keys that exist then; none without a server.
  std::optional<double> bytes_per_key = {};
  std::optional<Timing> timing = {};  ///< under the real clock
  RepliesSeen replies = {};           ///< of a script
  bool was_held_up = false;           ///< see Decider::was_held_up()
  bool interrupted = false;           ///< covers only the beginning of the traffic
};

/// Called for each request with its decision, in order.
using OnDecision = std::function<void(const Arrival&, const limiter::Decision&)>;
/// Called at least a few times a second with the number of requests decided.
using OnProgress = std::function<void(std::int64_t)>;

/// Builds an outcome from decisions, which must be added in time order.
class OutcomeRecorder {
 public:
  /// `on_decision`, which may be empty, must outlive this. `zero` is that of the timelines.
  OutcomeRecorder(const std::vector<limiter::Limit>& limits, const OnDecision& on_decision,
                  bool compares_reports, std::optional<microseconds> zero)
      : measurement_(limits), timeline_(zero), departures_(zero), on_decision_(on_decision) {
    if (!compares_reports) measurement_.ignore_reports();
  }

  void add(const Arrival& arrival, const limiter::Decision& decision) {
    measurement_.add(arrival, decision);
    timeline_.add(arrival.at, decision.allowed);
    if (departures_.bins().empty()) departures_.begin_at(arrival.at);
    if (decision.allowed) departures_.add(arrival.at + decision.delay, true, arrival.cost);
    if (on_decision_) on_decision_(arrival, decision);
  }
  /// The outcome of all added decisions. Call this once.
  [[nodiscard]] Outcome finish() {
    return {.measured = measurement_.result(),
            .top_denied = measurement_.most_denied(kTopDenied),
            .timeline = std::move(timeline_),
            .departures = std::move(departures_)};
  }

 private:
  static constexpr std::size_t kTopDenied = 10;

  Measurement measurement_;
  Timeline timeline_, departures_;
  const OnDecision& on_decision_;
};

}  // namespace rlctl::traffic
