#include "cli/now_option.h"

#include <utility>

#include "cli/limit_options.h"
#include "cli/problem.h"
#include "limiter/limit.h"

namespace rlctl::cli {

std::chrono::microseconds system_time() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

namespace {

/// In January 1970 no window of theirs ever moves.
void refuse_seconds(std::chrono::microseconds now) {
  using std::chrono::microseconds;
  constexpr microseconds kYears = std::chrono::years{10};
  const auto today = system_time();
  for (const auto& [name, scale] : {std::pair{"seconds", 1'000'000}, {"milliseconds", 1'000}}) {
    if (std::chrono::abs(now - today / scale) > kYears / scale) continue;
    throw UsageError("--now: '" + std::to_string(now.count()) + "' looks like " + name +
                         " since 1970, but is taken as microseconds",
                     "date +%s%6N prints those; ISO 8601 is taken too");
  }
}

}  // namespace

std::chrono::microseconds parse_now(const std::string& text) {
  const auto now = parsed("--now", [&] { return limiter::parse_instant(masked(text)); });
  refuse_seconds(now);
  return now;
}

}  // namespace rlctl::cli
