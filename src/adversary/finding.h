#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "adversary/schedule.h"

namespace rlctl::adversary {

/// A schedule that shows something. In the result of a search it is the shortest one, with the
/// roundest times.
struct Finding {
  Schedule schedule = {};
  Answers answers = {};
  Score score = {};
};

struct SearchResult {
  /// The most units allowed within one window by a clock that never steps back. Its schedule is
  /// empty only if the search was interrupted before any answer came.
  Finding most;
  /// More units than that, with a clock that steps back.
  std::optional<Finding> most_stepping_back = {};
  /// Whether a schedule with such a clock was answered: otherwise nothing is known about it.
  bool has_stepped_back = false;
  /// A denied request that an exact log would have allowed. The clock steps back only if no other
  /// schedule shows as serious a denial.
  std::optional<Finding> wrongly_denied = {};
  /// The most units above the limit, by such a clock, in a span that is shorter than a window by at
  /// least the rounding; none if none was found.
  std::optional<Score> beyond_rounding = {};
  /// `most` is all that a schedule may ask for, about four times the limit: no bound was found.
  bool is_unbounded = false;
  /// Set by search_all(): all schedules within bounds, unless `interrupted`.
  std::optional<std::int64_t> tried = {};
  std::int64_t undecided = 0;  ///< see Leads
  std::int64_t asked = 0;      ///< requests
  bool interrupted = false;
};

/// Whether `one` tells less than `other`: it has fewer units or, with equal units, a much longer
/// span or, if that is about equal too, more requests.
[[nodiscard]] bool tells_less_than(const Finding& one, const Finding& other, microseconds window);

/// What a search has found before it is shrunk. The times of its requests include the base.
struct Leads {
  std::optional<Finding> most = {}, wrongly_denied = {};
  std::optional<Score> beyond_rounding = {};  ///< see SearchResult
  /// The schedules that were left out, since their answers depend on when a key expires.
  std::int64_t undecided = 0;

  /// Keeps the candidate if it has wrong denials and the lead has none, or less serious ones: only
  /// at the edge.
  /// If both are equally serious, keeps it if `is_smaller` than the lead.
  void keep_denial(const Finding& candidate, bool is_smaller);
  /// Keeps the score if it has more units, above the limit, in less than a window by `rounding`.
  void keep_beyond_rounding(const Score& score, const limiter::Limit& limit, microseconds rounding);
};

}  // namespace rlctl::adversary
