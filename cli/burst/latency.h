#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/burst/report.h"
#include "traffic/histogram.h"
#include "traffic/timing.h"

namespace rlctl::cli {

// What is told of the times of a run under the real clock, in any form.

/// The percentiles that are told; a fixed list, so that reports can be compared.
struct Percentile {
  std::string_view name;   ///< in JSON, CSV and assertions
  std::string_view title;  ///< as people write it
  double percent;

  /// So many durations it takes to tell it, see Histogram::percentile().
  [[nodiscard]] std::int64_t needs() const noexcept;
};
inline constexpr std::array kPercentiles{
    Percentile{"p50", "p50", 50}, Percentile{"p75", "p75", 75}, Percentile{"p90", "p90", 90},
    Percentile{"p95", "p95", 95}, Percentile{"p99", "p99", 99}, Percentile{"p99_9", "p99.9", 99.9}};

/// Of the lag, by which a run is judged.
inline constexpr double kP99 = 99;

/// What is timed.
struct TimedSpan {
  std::string_view name;
  const traffic::Histogram& (*of)(const traffic::Timing&);
};
[[nodiscard]] std::span<const TimedSpan> timed_spans();

/// A number of µs, with at most three decimals.
[[nodiscard]] double as_us(double nanoseconds);

/// "1000/s", "12.5/s"
[[nodiscard]] std::string rate_text(double per_second);

/// What a caller waits for: the response time; in a closed loop, where nothing is due, the service
/// time.
[[nodiscard]] const traffic::Histogram& waited_for(const traffic::Timing& timing);

/// "fixed-window: the server answered 500/s of 1000/s: ..."; none where it kept up, or where the
/// traffic was too short to say.
[[nodiscard]] std::optional<std::string> why_overloaded(const BurstRun& run);

/// "fixed-window: the sender fell behind: ..."; none where the run is valid, or was not timed.
[[nodiscard]] std::optional<std::string> why_invalid(const BurstRun& run);

}  // namespace rlctl::cli
