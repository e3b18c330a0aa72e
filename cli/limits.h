#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/configuration.h"
#include "cli/failure.h"
#include "cli/options.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"

namespace rlctl::cli {

/// --limit, --algorithm and --burst, or --policy.
struct LimitOptions {
  std::vector<std::string> limits = {};
  std::optional<std::string> algorithm = {}, burst = {}, policy = {};
};

/// Unless a limit is required, --algorithm and --burst require one.
void add_limit_options(Options& options, LimitOptions& target, bool required);
/// The section of --help that lists what --algorithm takes.
[[nodiscard]] std::string algorithm_help();
/// The same for a command with another default; empty: none.
[[nodiscard]] std::string list_algorithms(std::string_view default_name);

/// What these options mean: one algorithm, and at least one limit.
struct Limiter {
  const limiter::Algorithm* algorithm = nullptr;
  std::vector<limiter::Limit> limits = {};
  const limiter::Policy* policy = nullptr;  ///< the one that --policy names
};

/// Throws UsageError unless algorithm, limits and cost fit together, so that no script is asked
/// what it would refuse; for --policy also what reading the configuration throws.
[[nodiscard]] Limiter resolve_limiter(const LimitOptions& options, std::int64_t cost,
                                      ConfigurationSource& configuration);

/// The same if a limit is optional: none without --limit and --policy.
[[nodiscard]] std::optional<Limiter> resolve_optional_limiter(const LimitOptions& options,
                                                              ConfigurationSource& configuration);

/// The limits of --limit, each with the burst of --burst; no two with the same window. Throws
/// UsageError.
[[nodiscard]] std::vector<limiter::Limit> parse_limits(std::span<const std::string> texts,
                                                       const std::optional<std::string>& burst);
/// The algorithm of this name, which counts requests. `also` is another word that the caller takes;
/// it may be empty. Throws UsageError.
[[nodiscard]] const limiter::Algorithm& parse_algorithm(const std::string& name,
                                                        std::string_view also = {});

/// The one key of the operands: see asked_keys(). Throws UsageError if there are none or several;
/// `example` and `several` are the hints.
[[nodiscard]] std::string only_key(const Limiter& limiter, std::span<const std::string> operands,
                                   std::string example, std::string several);

/// The keys that the operands mean: themselves, or with a policy its template, filled with as many
/// operands as it takes, one key after the other. `limiter` may be null. None without operands,
/// except for a policy without arguments, which is one key. Throws UsageError for an empty operand
/// and for a wrong number of them.
[[nodiscard]] std::vector<std::string> asked_keys(const Limiter* limiter,
                                                  std::span<const std::string> operands);

/// "policy 'login' (key login:%s) takes 1 argument", the beginning of a complaint.
[[nodiscard]] std::string takes_arguments(const limiter::Policy& policy);

/// "limit":5,"window_us":60000000,"burst":null
void append_limit_fields(JsonWriter& json, const limiter::Algorithm& algorithm,
                         const limiter::Limit& limit);

}  // namespace rlctl::cli
