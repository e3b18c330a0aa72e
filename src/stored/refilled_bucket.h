#pragma once

#include <chrono>

#include "limiter/limit.h"

namespace rlctl::stored {

/// A token bucket of another library, which is refilled in steps. The limit is not stored: a window
/// refills limit.limit tokens, and the bucket holds the burst, or the limit if there is none.
struct RefilledBucket {
  double tokens = 0;  ///< at `at`; may be negative
  microseconds at{0};
  microseconds step{0};      ///< time between refills; 0: a whole window
  bool whole = false;        ///< the tokens that came back are rounded down
  bool counts_used = false;  ///< `tokens` are those in use, not those that are left
  bool is_queue = false;     ///< the unit in service is not among them: one more fits

  /// The most tokens that it holds.
  double size(const limiter::Limit& limit) const;
  /// The tokens left at `t`; at most the size.
  double left_at(const limiter::Limit& limit, microseconds t) const;
  /// The first instant, not before `at`, with at least this many tokens left, at most the size.
  microseconds first_with(const limiter::Limit& limit, double wanted) const;

 private:
  microseconds interval(const limiter::Limit& limit) const;
  double left_at_first(const limiter::Limit& limit) const;
};

}  // namespace rlctl::stored
