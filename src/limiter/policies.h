#pragma once

#include <cstddef>
#include <optional>
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

// The policy's template must be valid, as it is in a Configuration.

/// How many arguments the policy's key takes.
[[nodiscard]] std::size_t argument_count(const Policy& policy);

/// The key with each argument in its place. There must be argument_count() of them.
[[nodiscard]] std::string fill(const Policy& policy, std::span<const std::string> arguments);

/// Could fill() have made this key, of arguments that are not empty?
[[nodiscard]] bool fits(const Policy& policy, std::string_view key);

/// A configuration that cannot be used: all mistakes that were found, in the order of the file.
/// what() is the first. Each begins with "FILE:LINE: "; a mistake of the whole file is one sentence
/// with the file's name in it. They contain no password. Control bytes are kept; long values are
/// cut.
class ConfigurationError : public UsageError {
 public:
  /// At least one mistake.
  explicit ConfigurationError(std::vector<std::string> mistakes, std::string hint = {})
      : UsageError(mistakes.front(), std::move(hint)), mistakes_(std::move(mistakes)) {}
  [[nodiscard]] const std::vector<std::string>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<std::string> mistakes_;
};

/// The contents of a configuration file, which rlctl-config(5) describes. Everything in it has been
/// checked as the command line would be: a policy's limits can be used with its algorithm, and its
/// key can carry them.
struct Configuration {
  std::string file = {};                    ///< its name; empty if there is none
  std::optional<std::string> url = {};      ///< can be connected to; may hold a password
  std::optional<std::string> timeout = {};  ///< parse_duration() takes it, and it is not 0
  std::vector<Policy> policies = {};        ///< in the order of the file
};

/// `file` is its name in messages. Throws ConfigurationError.
[[nodiscard]] Configuration parse_configuration(std::string_view text, const std::string& file);

/// Reads a file of at most 1 MiB. One whose URL holds a password must not be readable by others:
/// neither by everybody nor by its group, except that the group may read what belongs to root.
/// Throws ConfigurationError, and Interrupted if a signal came meanwhile.
[[nodiscard]] Configuration read_configuration(const std::string& file);

/// Null if there is none of that name.
[[nodiscard]] const Policy* find_policy(const Configuration& configuration, std::string_view name);

/// Why a key is thought to belong to a policy.
struct PolicyMatch {
  const Policy* policy = nullptr;
  std::string key;  ///< the key as it would be asked for: fits(*policy, key)
  /// Which of the policy's limits is kept at the key that was looked up; none if that is the key as
  /// it would be asked for, of a policy with several limits, which are kept under other keys.
  std::optional<std::size_t> limit;
};

/// The policy to which a key in Redis belongs: one that fits it, or that keeps one of several
/// limits there, as in "{login:alice}:60s" (see redis_keys()). Of several the one with the most
/// bytes of its own in the key, that is with the fewest in the place of arguments; of equals the
/// first in the file. A policy with several limits has no key that cannot carry them.
[[nodiscard]] std::optional<PolicyMatch> match_policy(const Configuration& configuration,
                                                      std::string_view key);
/// match_policy()'s policy, or null.
[[nodiscard]] const Policy* policy_for(const Configuration& configuration, std::string_view key);

}  // namespace rlctl::limiter
