#include "cli/option_values.h"

#include <fmt/format.h>

#include "cli/limit_options.h"
#include "cli/problem.h"
#include "limiter/limit.h"

namespace rlctl::cli {

std::int64_t parse_between(const std::string& text, std::string_view option, std::int64_t least,
                           std::int64_t most) {
  const auto value = limiter::parse_whole(masked(text), option);
  if (value >= least && value <= most) return value;
  throw UsageError(fmt::format("{} must be from {} to {}, not {}", option, least, most, value));
}

std::chrono::microseconds parse_time(const std::string& text, std::string_view option) {
  return parsed(option, [&] { return limiter::parse_duration(masked(text)); });
}

}  // namespace rlctl::cli
