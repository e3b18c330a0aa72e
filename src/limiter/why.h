#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::limiter {

/// What a limiter did with some traffic, as measured.
struct Treatment {
  Limit limit = {};
  std::int64_t cost = 1;                     ///< the highest of a request
  std::int64_t denied = 0, keys_denied = 0;  ///< requests; keys
  bool has_several_keys = false;             ///< then the rest is about one of them
  std::int64_t allowed = 0;                  ///< units, the most within a window of the limit
  microseconds span{0};                      ///< from the first of them to the last
  microseconds edge{0};                      ///< the last edge of a window before the last of them
  std::int64_t after_edge = 0;               ///< how many of them are not before that edge
  microseconds longest_delay{0};             ///< of an allowed request
  bool is_search = false;                    ///< the worst of the schedules that a search tried
  std::string (*text_of)(microseconds) = span_text;  ///< of a time that has passed
};

/// Why the algorithm treated the traffic so, as a sentence about it without a full stop: "its
/// counter starts over at 2026-01-01T00:01:00Z, so ...". None if it allowed nothing.
[[nodiscard]] std::optional<std::string> why(const Algorithm& algorithm,
                                             const Treatment& treatment);

}  // namespace rlctl::limiter
