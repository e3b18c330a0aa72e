#include "cli/option_values.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli {
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

std::int64_t parse_between(const std::string& text, std::string_view option, std::int64_t least,
                           std::int64_t most) {
  const auto value = parse_whole(masked(text), option);
  if (value >= least && value <= most) return value;
  throw UsageError(fmt::format("{} must be from {} to {}, not {}", option, least, most, value));
}

std::chrono::microseconds parse_time(const std::string& text, std::string_view option) {
  return parsed(option, [&] { return parse_duration(masked(text)); });
}

std::chrono::microseconds parse_now(const std::string& text) {
  const auto now = parsed("--now", [&] { return parse_instant(masked(text)); });
  refuse_seconds(now);
  return now;
}

}  // namespace rlctl::cli
