#pragma once

#include <vector>

#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::traffic {

/// What is asked: an algorithm, and its limits, all of which must allow.
struct Contestant {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};
};

/// Throws limiter::UsageError where the algorithm cannot be asked with these limits.
void require_usable(const Contestant& contestant);

}  // namespace rlctl::traffic
