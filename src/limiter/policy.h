#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::limiter {

/// A named set of limits for some keys. `key` is a template: each %s in it stands for an argument,
/// %% for a percent sign.
struct Policy {
  std::string name = {};
  std::string key = {};
  const Algorithm* algorithm = nullptr;
  std::vector<Limit> limits = {};  ///< at least one; each has the policy's burst
  /// The bits of an argument that is an IPv6 address; see client_network(). None: the whole text.
  std::optional<int> ipv6_prefix = {};
  std::size_t line = 0;  ///< in its file
};

/// Throws UsageError unless each % of the template is %s or %%.
void require_template(std::string_view key);

// The functions below require a valid template, as in a Configuration.

/// The number of arguments in the policy's key.
[[nodiscard]] std::size_t argument_count(const Policy& policy);

/// The key with the arguments filled in: of addresses their network, if the policy has an
/// ipv6_prefix. There must be argument_count() of them.
[[nodiscard]] std::string fill(const Policy& policy, std::span<const std::string> arguments);

/// Whether fill() could make this key from non-empty arguments.
[[nodiscard]] bool fits(const Policy& policy, std::string_view key);

/// The number of bytes in the policy's template that are not part of an argument.
[[nodiscard]] std::size_t own_size(const Policy& policy);

}  // namespace rlctl::limiter
