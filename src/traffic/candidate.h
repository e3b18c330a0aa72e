#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::traffic {

struct ForeignLimiter;

/// What is tried: an algorithm, or a foreign limiter, and the limits, all of which must be kept.
struct Candidate {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};             ///< a foreign limiter is told the first
  std::shared_ptr<const ForeignLimiter> foreign = {};  ///< instead of an algorithm
};

/// The algorithm's, or the foreign limiter's own.
[[nodiscard]] std::string_view name_of(const Candidate& candidate);
/// Throws UsageError if it cannot be asked with these limits.
void require_usable(const Candidate& candidate);

}  // namespace rlctl::traffic
