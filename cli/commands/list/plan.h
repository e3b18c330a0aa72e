#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/app/watch.h"
#include "limiter/limit.h"

namespace rlctl::cli::list {

/// The sort order: keys ascending, the others descending, a row without that value last, and a key
/// that never expires before all others.
enum class SortKey { kUsed, kRatio, kTtl, kBytes, kKey };

/// The options of `rlctl list`.
struct Plan {
  std::string pattern = "*";
  std::optional<double> above = {};      ///< only rows with at least this ratio
  std::optional<std::int64_t> top = {};  ///< at most this many
  std::optional<SortKey> sort = {};      ///< none: as they are found
  bool include_unrecognized = false;     ///< also what only looks like a limiter's state
  bool only_totals = false;
  std::optional<limiter::Limit> limit = {};  ///< of keys whose limit is not known otherwise
  std::optional<std::string> as = {};        ///< what other limiters' keys hold
  Watch watch = {};

  /// Whether some limiters are left out.
  bool has_filter() const { return pattern != "*" || above; }
};

}  // namespace rlctl::cli::list
