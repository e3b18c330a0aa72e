#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/url.h"

// The configuration file, rlctl-config(5): named policies, descriptions of foreign limiters, and
// how to reach the server. cli/options/configuration.cc reads it once for a command; `check`,
// `quota`, `list` and `inspect` fill in and match the keys of its policies; `config` shows it and
// its mistakes.

namespace rlctl::limiter {

// ---- Policies ----

/// A named set of limits for some keys. `key` is a template: each %s in it stands for an argument,
/// %% for a percent sign.
struct Policy {
  std::string name = {};
  std::string key = {};
  const Algorithm* algorithm = nullptr;
  std::vector<Limit> limits = {};  ///< at least one; each has the policy's burst
  /// The bits of an argument that is an IPv6 address; see client_network(). std::nullopt: the whole
  /// text of the argument is in the key.
  std::optional<int> ipv6_prefix = {};
  std::size_t line = 0;  ///< where its table begins in the file
};

/// The number of arguments in the policy's key. Throws UsageError unless each % of the template is
/// %s or %%, which is so in a Configuration.
std::size_t argument_count(const Policy& policy);

/// The key with the arguments filled in: of addresses their network, if the policy has an
/// ipv6_prefix. There must be argument_count() of them.
std::string fill(const Policy& policy, std::span<const std::string> arguments);

/// Whether fill() could make this key from arguments that are not empty.
bool fits(const Policy& policy, std::string_view key);

// ---- Mistakes ----

/// A mistake in a configuration file.
struct ConfigurationMistake {
  /// Begins with "FILE:LINE: ", except that a mistake about the whole file is a sentence that
  /// includes the file name. Contains no passwords, but may contain control bytes; long values are
  /// cut.
  std::string message = {};
  /// The setting that cannot be used: "url", also for all that belongs to its server, "cacert",
  /// "cert", "timeout", "policy.NAME", "script.NAME", "library.NAME"; "policy" and so on if it is
  /// not known which one; empty if no setting depends on it.
  std::string part = {};
  std::string hint = {};
  std::size_t line = 0;  ///< 0: the whole file
};

/// The mistake on a line of a file: its message begins with "FILE:LINE: ".
ConfigurationMistake mistake_at(const std::string& file, std::size_t line, std::string_view message,
                                std::string part);
/// Adds mistakes to others, in the order of their lines; those about the whole file come last.
void merge_mistakes(std::vector<ConfigurationMistake>& mistakes,
                    std::vector<ConfigurationMistake> others);

// ---- Foreign limiters ----

/// The table [script.NAME], which describes a foreign limiter. Only its form is known here: each
/// key has a text or a list of texts.
struct ScriptSection {
  static constexpr std::string_view kFile = "file", kExec = "exec", kKeys = "keys",
                                    kArguments = "args", kSetup = "setup";
  /// Whether the value of this key may be a list.
  static bool takes_list(std::string_view key) {
    return key == kKeys || key == kArguments || key == kSetup;
  }

  struct Setting {
    std::string name = {};
    std::vector<std::string> values = {};  ///< exactly one unless it is a list
    bool is_list = false;
    std::size_t line = 0;
  };

  std::string name = {};
  std::vector<Setting> settings = {};
  std::size_t line = 0;

  /// Null if it is not set.
  const Setting* find(std::string_view key) const;
};

/// The table [library.NAME], which says how the keys of a library are read. Only its form is known
/// here: each key has texts, of which numbers and truth values are some.
struct LibrarySection {
  struct Setting {
    std::string name = {};                 ///< its key; "at.field" in an inline table at
    std::vector<std::string> values = {};  ///< several in a list
    std::size_t line = 0;
  };

  std::string name = {};
  std::vector<Setting> settings = {};  ///< in the order of the alphabet
  std::size_t line = 0;
};

// ---- The file ----

/// A configuration with mistakes. what() and hint() are about the first mistake.
class [[nodiscard]] ConfigurationError : public UsageError {
 public:
  /// `mistakes` must not be empty.
  explicit ConfigurationError(std::vector<ConfigurationMistake> mistakes)
      : UsageError(mistakes.front().message, mistakes.front().hint),
        mistakes_(std::move(mistakes)) {}
  const std::vector<ConfigurationMistake>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<ConfigurationMistake> mistakes_;
};

/// The contents of a configuration file; see rlctl-config(5). Settings with mistakes are left out.
/// For the others, the same checks as for the command line have passed: the algorithm of each
/// policy supports its limits, and its key can carry them.
struct Configuration {
  std::string file = {};                    ///< its name; empty without a file
  std::optional<std::string> url = {};      ///< valid and supported; may contain a password
  std::optional<std::string> timeout = {};  ///< valid for parse_duration(), and not 0
  /// Where the password of the URL's server is, an absolute path if `file` is.
  std::optional<std::string> password_file = {};
  bool use_tls = false;  ///< use TLS even if the URL does not say so
  /// The names of files are as in password_file. `sni` and `insecure` concern the URL's server.
  redis::Tls tls = {};
  std::vector<Policy> policies = {};           ///< in the order of the file
  std::vector<ScriptSection> scripts = {};     ///< in the order of the file
  std::vector<LibrarySection> libraries = {};  ///< in the order of the file
  /// In the order of the file; a mistake about its permissions is the last.
  std::vector<ConfigurationMistake> mistakes = {};
};

/// Throws ConfigurationError with all mistakes, if there are any.
void require_correct(const Configuration& configuration);

/// `file` is the file name in messages. Throws ConfigurationError if the text is not TOML.
Configuration parse_configuration(std::string_view text, const std::string& file);

/// Reads a file of at most 1 MiB. A URL that contains a password is a mistake if others or the
/// file's group can read it, except that the group may read a file that root owns. Throws
/// ConfigurationError if the file cannot be read or is not TOML, and Interrupted on a signal.
Configuration read_configuration(const std::string& file);

/// Null if no policy has that name.
const Policy* find_policy(const Configuration& configuration, std::string_view name);
/// Null if no script has that name.
const ScriptSection* find_script(const Configuration& configuration, std::string_view name);

// ---- The policies of a key ----

/// The policy to which a key belongs, and how.
struct PolicyMatch {
  const Policy* policy = nullptr;
  std::string key;  ///< the key as a user would pass it: fits(*policy, key)
  /// The index of the policy's limit that is stored at the key that was looked up. std::nullopt if
  /// that key is the one a user would pass and the policy's several limits are stored at other
  /// keys.
  std::optional<std::size_t> limit;
};

/// The policy to which a key in Redis belongs: one whose template fits it, or one that stores one
/// of several limits there, as in "{login:alice}:60s" (see redis_keys()). If several match, the one
/// whose template accounts for the most bytes of the key wins; if these are equal, the first in the
/// file. A policy with several limits never matches a key that cannot carry them.
std::optional<PolicyMatch> match_policy(const Configuration& configuration, std::string_view key);
/// The key that fill() makes of the arguments in this one, which fits the policy: of addresses
/// their network, if the policy has an ipv6_prefix.
std::string with_networks(const Policy& policy, std::string_view key);
/// The key in Redis that is meant by one that match_policy() found: with networks for addresses.
std::string stored_key(const PolicyMatch& match, std::string_view key);

/// Two policies with the same template that store in the same keys with different algorithms, so
/// that each finds the state of the other.
struct PolicyClash {
  const Policy* first = nullptr;
  const Policy* second = nullptr;  ///< later in the file
};
/// At most one for each second policy, in the order of the file.
std::vector<PolicyClash> policy_clashes(const Configuration& configuration);

/// The policy that match_policy() finds, or null.
const Policy* policy_for(const Configuration& configuration, std::string_view key);

}  // namespace rlctl::limiter
