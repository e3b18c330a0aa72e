#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/configuration.h"
#include "limiter/policy.h"

namespace rlctl::limiter {

/// Null if no policy has that name.
[[nodiscard]] const Policy* find_policy(const Configuration& configuration, std::string_view name);
/// Null if no script has that name.
[[nodiscard]] const ScriptSection* find_script(const Configuration& configuration,
                                               std::string_view name);

/// The policy to which a key belongs, and how.
struct PolicyMatch {
  const Policy* policy = nullptr;
  std::string key;  ///< the key as a user would pass it: fits(*policy, key)
  /// The index of the policy's limit that is stored at the key that was looked up. None if that key
  /// is the one a user would pass and the policy's several limits are stored at other keys.
  std::optional<std::size_t> limit;
};

/// The policy to which a key in Redis belongs: one whose template fits it, or one that stores one
/// of several limits there, as in "{login:alice}:60s" (see redis_keys()). If several match, the one
/// whose template accounts for the most bytes of the key wins; if these are equal, the first in the
/// file. A policy with several limits never matches a key that cannot carry them.
[[nodiscard]] std::optional<PolicyMatch> match_policy(const Configuration& configuration,
                                                      std::string_view key);
/// Two policies with the same template that store in the same keys with different algorithms, so
/// that each finds the state of the other.
struct PolicyClash {
  const Policy* first = nullptr;
  const Policy* second = nullptr;  ///< later in the file
};
/// At most one for each second policy, in the order of the file.
[[nodiscard]] std::vector<PolicyClash> policy_clashes(const Configuration& configuration);

/// The policy that match_policy() finds, or null.
[[nodiscard]] const Policy* policy_for(const Configuration& configuration, std::string_view key);

}  // namespace rlctl::limiter
