#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

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

}  // namespace rlctl::traffic
