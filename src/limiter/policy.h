#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::limiter {

/// Limits under a name, and the keys for which they are meant. `key` is a template: each %s in it
/// stands for an argument, %% for a percent sign.
struct Policy {
  std::string name = {};
  std::string key = {};
  const Algorithm* algorithm = nullptr;
  std::vector<Limit> limits = {};  ///< at least one; with the policy's burst
  std::size_t line = 0;            ///< in its file
};

/// Throws UsageError for an empty template, and for a % in it that means nothing.
void require_template(std::string_view key);

// The policy's template must be good.

/// How many arguments the policy's key takes.
[[nodiscard]] std::size_t argument_count(const Policy& policy);

/// The key with each argument in its place. There must be argument_count() of them.
[[nodiscard]] std::string fill(const Policy& policy, std::span<const std::string> arguments);

/// Could fill() have made this key, of arguments that are not empty?
[[nodiscard]] bool fits(const Policy& policy, std::string_view key);

/// How many bytes of each of its keys are the policy's own, and no argument's.
[[nodiscard]] std::size_t own_size(const Policy& policy);

}  // namespace rlctl::limiter
