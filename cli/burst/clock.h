#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlctl::cli {

struct BurstOptions;

/// What --rate is for a closed loop.
inline constexpr std::string_view kMaxRate = "max";

/// How traffic is sent under the real clock: on a schedule, or without one, in a closed loop.
struct RealClock {
  std::size_t clients = 1;  ///< connections, on which requests take turns
  /// In a closed loop: so many requests are on their way on each connection at any time.
  std::optional<std::size_t> pipeline = {};
  /// In a closed loop: for how long, unless the traffic ends before.
  std::optional<std::chrono::microseconds> duration = {};

  [[nodiscard]] bool is_closed_loop() const noexcept { return pipeline.has_value(); }
};

/// What the options say of the clock; none is the virtual one. Throws UsageError where they do not
/// go together.
[[nodiscard]] std::optional<RealClock> parse_clock(const BurstOptions& options);

/// "open loop, 1 client", "closed loop, 50 clients, pipeline 1"
[[nodiscard]] std::string clock_text(const RealClock& clock);

}  // namespace rlctl::cli
