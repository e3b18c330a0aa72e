#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "cli/errors/failure.h"
#include "cli/options/configuration.h"
#include "cli/options/options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::cli {

/// --limit, --algorithm and --burst, or --policy.
struct LimitOptions {
  std::vector<std::string> limits = {};
  std::optional<std::string> algorithm = {}, burst = {}, policy = {};
  /// Whether the algorithm must have reservations: the default is then budget.
  bool for_reservations = false;
};

/// Why --policy excludes what a policy defines.
inline constexpr std::string_view kPolicyDefinesIt = "the policy defines it";

/// Declares --limit, --algorithm, --burst and --policy. If `required` is false, --algorithm and
/// --burst require --limit, and --algorithm has no default.
void add_limit_options(Options& options, LimitOptions& target, bool required);
/// Declares only --limit and --policy, for commands whose keys determine the algorithm.
void add_limits_of_key(Options& options, LimitOptions& target);
/// Declares --burst, for commands that read the buckets of other libraries.
void add_burst_of_key(Options& options, LimitOptions& target);
/// The section of --help that lists the values of --algorithm, with the default.
std::string algorithm_help();
/// The same for a command with another default; empty: no default.
std::string list_algorithms(std::string_view default_name);

/// The meaning of these options: one algorithm, and at least one limit.
struct Limiter {
  const limiter::Algorithm* algorithm = nullptr;  ///< null only from resolve_optional_limiter()
  std::vector<limiter::Limit> limits = {};
  const limiter::Policy* policy = nullptr;  ///< the policy that --policy names
};

/// The hint where --limit is missing: "did you mean --limit 5/60s?" if an operand is a limit, else
/// the example.
std::string limit_hint(std::span<const std::string> operands, std::string example);

/// Throws UsageError if the script would refuse this algorithm, limits and cost; for --policy also
/// what reading the configuration throws. The operands are for the hint where --limit is missing.
Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost,
                        ConfigurationSource& configuration,
                        std::span<const std::string> operands = {});

/// The same for commands whose keys determine the algorithm: returns nothing if neither --limit nor
/// --policy is given, and no algorithm for --limit.
std::optional<Limiter> resolve_optional_limiter(const LimitOptions& options,
                                                ConfigurationSource& configuration);

/// Where the numbers of a trial stand: options give them, or the head of a script.
struct LimitOrigins {
  ValueOrigin limit{"--limit"}, burst{"--burst"}, cost{"--cost"};
};

/// The limits of --limit, each with the burst of --burst. Throws UsageError, also for equal
/// windows.
std::vector<limiter::Limit> parse_limits(std::span<const std::string> texts,
                                         const std::optional<std::string>& burst,
                                         const LimitOrigins& origins = {});
/// The algorithm with this name, which must count requests. Throws UsageError.
const limiter::Algorithm& parse_algorithm(const std::string& name);

/// The only key of the operands: see asked_keys(). Throws UsageError if there is none or more than
/// one, with the hints `example` and `several`.
std::string only_key(const Limiter& limiter, std::span<const std::string> operands,
                     std::string example, std::string several);

/// The keys for the operands: the operands themselves or, for a policy, its key, filled with as
/// many operands at a time as it has arguments. A policy without arguments has one key, and takes
/// no operands. `limiter` may be null: then no operands give no keys. Throws UsageError for an
/// empty operand, and for a number of operands that the policy does not take, such as none.
std::vector<std::string> asked_keys(const Limiter* limiter, std::span<const std::string> operands);

/// Throws UsageError if a limit has a window of the calendar: for `what`, a limiter of others, or a
/// command, that knows lengths only.
void require_lengths(std::span<const limiter::Limit> limits, std::string_view what,
                     const ValueOrigin& origin = LimitOrigins().limit);

/// The beginning of an error: "policy 'login' (key login:%s) takes 1 argument".
std::string takes_arguments(const limiter::Policy& policy);

/// A limit and the algorithm that applies it, on which its burst depends.
struct AppliedLimit {
  const limiter::Algorithm& algorithm;
  const limiter::Limit& limit;
};
/// A limit with the key that counts it.
struct LimitOfKey {
  std::string_view key;
  AppliedLimit applied;
};
extern const JsonObject<AppliedLimit> kLimitJson;
extern const JsonObject<LimitOfKey> kLimitOfKeyJson;

}  // namespace rlctl::cli
