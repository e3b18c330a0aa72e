#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/wait.h"
#include "cli/options/configuration.h"
#include "cli/options/limits.h"
#include "cli/server/connection.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/error.h"
#include "stored/forms.h"
#include "stored/inspection.h"
#include "stored/libraries.h"
#include "stored/survey.h"

namespace rlctl::cli {

// For commands that look at keys: which keys in Redis belong to a KEY, and what is known of them.

/// The operands, of which the first `typed` stand before --; if the only one is a "-" there, the
/// lines of standard input, without empty ones. Throws UsageError, also for a "-" among others,
/// InputError and Interrupted.
std::vector<std::string> operands_or_lines(std::vector<std::string> operands, std::size_t typed,
                                           const Interrupt& interrupt);

/// The keys for the operands, as asked_keys() gives them, without duplicates, in order. Throws
/// UsageError with the hint `example` if there is none.
std::vector<std::string> distinct_keys(const std::optional<Limiter>& limiter,
                                       std::span<const std::string> operands, std::string example);

/// The warning about a KEY that is not there: "a KEY is taken literally; list and
/// reset --match take a pattern".
/// Empty if it does not look like a pattern.
std::string literal_key_warning(std::string_view key);

/// For --match: throws UsageError if the pattern is empty or there are operands beside it.
void require_pattern(const std::string& pattern, std::span<const std::string> operands);

/// The operand of a command that searches keys; "*" if there is none. Throws UsageError if there
/// are several or it is empty.
std::string only_pattern(std::span<const std::string> operands);

/// The hint at the likely mistake in a pattern that matches nothing: it can match only one key, or
/// not those of several limits. Empty if there is none.
std::string hint_at_pattern(std::string_view pattern);
/// The same if nothing at all was found: also that other databases of the server hold keys. May ask
/// the server.
std::string hint_at_nothing(std::string_view pattern, Connector& connector);

/// A key in Redis, and what is known about it beforehand.
struct KeyTarget {
  std::string key;
  std::optional<limiter::Limit> limit = {};
  const limiter::Algorithm* algorithm = nullptr;  ///< null: not known
  bool limit_is_asked = false;                    ///< `limit` takes precedence over the stored one
  std::string_view limit_name = "policy";         ///< where it comes from
  /// The key itself, besides those of its several limits: `check` does not write it.
  bool only_if_there = false;
  std::string policy = {};  ///< that has the limit, if the key's name led to it
};

/// At least one key in Redis that belongs to `key`:
/// - with a limiter, the keys that redis_keys() names; for several limits also the key itself;
/// - else, if a policy of the configuration fits, the key itself and the keys of the policy's
///   limits; a stored limit takes precedence over the policy's;
/// - else the key itself, without a limit.
/// Reads the configuration only without a limiter.
std::vector<KeyTarget> find_targets(const std::string& key, const std::optional<Limiter>& limiter,
                                    ConfigurationSource& configuration);

/// The target for a key that was found in Redis, such as by a scan: itself, with the limit of the
/// policy that stores it there, if there is one.
KeyTarget found_target(const std::string& key, const limiter::Configuration& configuration);

/// The rows of the configuration and of --read-as, then the built-in ones, about the keys of other
/// libraries.
stored::Libraries libraries_of(ConfigurationSource& configuration,
                               const std::optional<std::string>& as = {});
/// Declares --read-as.
void add_as_option(Options& options, std::optional<std::string>& as);

/// How to read it.
stored::InspectionRequest request_for(const KeyTarget& target);

/// The limit that a settle passes for a budget that stores this: the stored one, with the window of
/// `named` if an option names it. A period of the calendar that has ended at `now` cannot be
/// continued without one: then throws UsageError.
limiter::Limit limit_to_settle(const std::string& key, const stored::Decoded& budget,
                               std::chrono::microseconds now,
                               const std::optional<limiter::Limit>& named = std::nullopt);

/// Of the keys that a command finds by a pattern, those that this user may not read: they are
/// passed over and counted, but if the user may read none at all, that is an error.
class RefusedKeys {
 public:
  void add(const stored::ReadableKeys& found);
  /// Adds those of these keys that are refused, and returns what the others hold that exist.
  std::vector<const stored::Inspection*> add(std::span<const stored::Surveyed> found);
  /// Call this if a key could be read.
  void found_readable() noexcept { could_read_ = true; }

  /// Each key once, although SCAN may return it twice.
  std::size_t count() const noexcept { return keys_.size(); }
  /// "3 keys that this user may not read"
  std::string text() const;
  /// Throws the error for the first of them if no key could be read.
  void require_readable() const;

 private:
  void add(std::string_view key, const redis::Error& why);

  std::unordered_set<std::size_t> keys_;  ///< hashes, since there may be many keys
  std::optional<redis::Error> why_;
  bool could_read_ = false;
};

}  // namespace rlctl::cli
