#pragma once

#include "limiter/limit.h"
#include "limiter/model/model.h"

namespace rlctl::limiter {

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

/// How many units of cost take so long, in 1/limit µs, to come back; at most INT64_MAX.
[[nodiscard]] constexpr Usage units_of(Wide parts, const Limit& limit) {
  const auto units = ceil_div(parts, limit.window.count());
  return {.units = units > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(units),
          .exact = static_cast<double>(parts) / static_cast<double>(limit.window.count())};
}

}  // namespace rlctl::limiter
