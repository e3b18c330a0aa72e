#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace rlctl::traffic {

using std::chrono::nanoseconds;

/// How often which duration was seen, of 0 to an hour, in buckets that are at most 1/1024 wider
/// than what they hold is long, so that percentiles have three digits; longer ones count as an
/// hour. Histograms are merged, never their percentiles averaged. After Gil Tene's HdrHistogram.
class Histogram {
 public:
  void add(nanoseconds duration);
  void merge(const Histogram& other);

  [[nodiscard]] std::int64_t count() const noexcept;
  [[nodiscard]] nanoseconds min() const noexcept;  ///< exact; 0 where there is none
  [[nodiscard]] nanoseconds max() const noexcept;  ///< exact; 0 where there is none
  [[nodiscard]] double mean_ns() const noexcept;
  [[nodiscard]] double stdev_ns() const noexcept;
  /// The duration that `percent` (above 0, below 100) of all did not exceed. None where fewer than
  /// kBeyond were longer: so few say nothing about a percentile.
  [[nodiscard]] std::optional<nanoseconds> percentile(double percent) const;

  static constexpr std::int64_t kBeyond = 10;

 private:
  // …
};

}  // namespace rlctl::traffic
