#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "limiter/decision.h"
#include "limiter/limit.h"
#include "traffic/measurement.h"
#include "traffic/traffic.h"

namespace rlctl::traffic {

using std::chrono::nanoseconds;

/// How often which duration was seen, of 0 to an hour, in buckets that are at most 1/1024 wider
/// than what they hold is long, so that percentiles have three digits; longer ones count as an
/// hour, negative ones as 0. Histograms are merged, never their percentiles averaged. Memory grows
/// with the longest duration, to 270 KB. After Gil Tene's HdrHistogram.
class Histogram {
 public:
  void add(nanoseconds duration);
  void merge(const Histogram& other);

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] nanoseconds min() const noexcept;  ///< exact; 0 where there is none
  [[nodiscard]] nanoseconds max() const noexcept;  ///< exact; 0 where there is none
  [[nodiscard]] double mean_ns() const noexcept;   ///< exact; 0 where there is none
  [[nodiscard]] double stdev_ns() const noexcept;  ///< of all that was added; 0 where there is none
  /// The duration that `percent` (above 0, below 100, in whole thousandths) of all did not exceed:
  /// the longest of its bucket, or max(). None where fewer than kBeyond come after it when all
  /// stand in the order of their lengths: so few say nothing about a percentile.
  [[nodiscard]] std::optional<nanoseconds> percentile(double percent) const;

  static constexpr std::int64_t kBeyond = 10;

 private:
  __extension__ typedef __int128 Wide;

  std::vector<std::int64_t> buckets_;  ///< up to the longest that was seen
  std::int64_t count_ = 0;
  std::int64_t min_ns_ = INT64_MAX, max_ns_ = 0;
  Wide sum_ns_ = 0, sum_of_squares_ = 0;
};

/// What a run under the real clock took, on the sender's side. On a schedule, n requests within t
/// are a rate of (n - 1) / t, what lies between them counts; without one they are n / t.
struct Timing {
  /// A sender, or a server, with this share of the rate has kept up.
  static constexpr double kKeptUp = 0.99;

  Histogram service = {};   ///< from sending a request to its answer
  Histogram response = {};  ///< from when it was to be sent to its answer; empty without a schedule
  Histogram lag = {};       ///< from when it was to be sent to sending it; empty without a schedule
  double seconds = 0;       ///< from the first sending to the last answer
  double offered_per_second = 0;   ///< as scheduled; 0 without a schedule, or all at one time
  double sent_per_second = 0;      ///< from the first sending to the last; 0 without a schedule
  double achieved_per_second = 0;  ///< answers within `seconds`
  /// The server's own time for each call of the script; none where it does not tell, or where
  /// others called scripts meanwhile.
  std::optional<double> server_us_per_call = {};

  /// Whether the sender kept to the schedule, so that what was measured is the server's: the lag's
  /// p99 is at most a tenth of service's p99 (the maxima, where there are too few for a
  /// percentile), and it sent at 99 % of the offered rate at least. True without a schedule. (That
  /// the answers keep up is the server's part: where they do not, response times grow for as long
  /// as the traffic lasts.)
  [[nodiscard]] bool is_valid() const;
};

/// How many requests were allowed and denied when, in bins of one width, for a picture. It need not
/// know beforehand how long a traffic lasts: where there would be more than kMost bins, two
/// neighbours become one, so that there are between half of that and kMost once it has lasted for a
/// while. Widths are powers of two, in µs.
class Timeline {
 public:
  static constexpr std::size_t kMost = 4096;

  struct Bin {
    std::int64_t allowed = 0, denied = 0;
    bool operator==(const Bin&) const = default;
  };

  /// Nothing will come before this. Without it, before the first.
  void begin_at(microseconds at);
  /// In any order, but none before the beginning. `count`: of what is counted, requests or units.
  void add(microseconds at, bool allowed, std::int64_t count = 1);

  [[nodiscard]] microseconds begin() const noexcept { return begin_; }  ///< of the first bin
  [[nodiscard]] microseconds end() const noexcept { return end_; }      ///< the latest request
  [[nodiscard]] microseconds width() const noexcept { return width_; }
  [[nodiscard]] const std::vector<Bin>& bins() const noexcept { return bins_; }

  /// The same in `count` bins over [from, to]: what a picture of so many columns shows. A bin of
  /// this that lies across an edge goes where its middle lies, the middle of what it can hold:
  /// the last one ends with the last request, so that [begin(), end()] shows every request.
  [[nodiscard]] std::vector<Bin> resampled(microseconds from, microseconds to,
                                           std::size_t count) const;

 private:
  void widen();

  microseconds begin_{0}, end_{0}, width_{1};
  int width_bits_ = 0;  ///< width_ is 1 µs shifted by so many
  std::vector<Bin> bins_;
};

/// The results of one candidate.
struct Outcome {
  Measured measured = {};
  std::vector<KeyDenied> top_denied = {};  ///< at most ten
  Timeline timeline = {};                  ///< of requests as they come
  /// Of what is allowed, in units, as it may go on: after its delay, if any.
  Timeline departures = {};
  /// At the end of the traffic, over the keys that are there then; none without a server.
  std::optional<double> bytes_per_key = {};
  std::optional<Timing> timing = {};  ///< under the real clock
  bool interrupted = false;           ///< it covers only the beginning of the traffic
};

/// Called for each request with what was decided, in order: for --jsonl and --csv.
using OnDecision = std::function<void(const Arrival&, const limiter::Decision&)>;
/// Called at least a few times a second with the number of requests decided.
using OnProgress = std::function<void(std::int64_t)>;

/// Makes an outcome of decisions as they come, in the order of their times.
class OutcomeRecorder {
 public:
  /// `on_decision` may be empty.
  OutcomeRecorder(const std::vector<limiter::Limit>& limits, const OnDecision& on_decision)
      : measurement_(limits), on_decision_(on_decision) {}

  void add(const Arrival& arrival, const limiter::Decision& decision) {
    measurement_.add(arrival, decision);
    timeline_.add(arrival.at, decision.allowed);
    if (departures_.bins().empty()) departures_.begin_at(arrival.at);
    if (decision.allowed) departures_.add(arrival.at + decision.delay, true, arrival.cost);
    if (on_decision_) on_decision_(arrival, decision);
  }
  /// Of all that was added; once.
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
