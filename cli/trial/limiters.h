#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/options.h"
#include "cli/trial/plan.h"

// The limiters on trial: the options that name them, what follows from these, and how the command
// that repeats the trial names them.

namespace rlctl::cli::trial {

/// Declares the limiters. `limit_help` must live as long as the options.
void add_limiters(Options& options, Plan& plan, std::string_view limit_help);
/// Declares --seed and --start.
void add_seed_and_start(Options& options, Plan& plan);

/// Adds one of the KEYS of the scripts. Throws UsageError for a number, which is no template.
void add_template(ScriptOptions& script, const std::string& key);
/// Takes KEY... , ARG... of a script from the operands: without a comma, it takes nothing. The
/// first word is left if `is_other`.
void take_keys_and_args(Plan& plan, std::vector<std::string>& operands, std::size_t typed,
                        bool (*is_other)(std::string_view word));
/// A hint for an operand that the command does not know; empty if its meaning is unknown.
std::string hint_for(const std::string& operand, ConfigurationSource& configuration);

/// Sets the limit: that of leases, or those of --limit, or else that of the scripts, or
/// `if_not_given`.
void set_limits(Plan& plan, std::span<const NamedLimiter> scripts, const Options& given,
                const char* if_not_given);
/// Throws UsageError if the algorithms do not fit what they are asked for.
void require_algorithms(const Plan& plan);
/// Whether the user's own limiters take part.
bool names_others(const Plan& plan);
/// Throws UsageError, which names the limit and the algorithm, since there may be several of each.
void require_taken(const limiter::Algorithm& algorithm, const limiter::Limit& limit,
                   std::int64_t cost);
/// Adds an algorithm with its limits. `burst_is_for_others`: it takes --burst only if it has one.
void add_algorithm(Plan& plan, const limiter::Algorithm& algorithm, bool burst_is_for_others);
/// Adds scripts.
void add_scripts(Plan& plan, const NamedLimiters& scripts, const Invocation& invocation);
/// Adds the scripts, the programs, and the algorithms, the default ones if nothing is named.
/// `has_burst`: a further limiter has one. Throws UsageError for a limiter that cannot be asked.
void add_limiters_named(Plan& plan, const NamedLimiters& scripts, const Invocation& invocation,
                        bool has_burst);

/// The values of options that are not printed as they were given: defaults that affect the result,
/// and what operands say.
using Resolved = std::map<std::string_view, std::vector<std::string>>;
/// Those of the limiters and of the server, without its password.
Resolved resolved_limiters(const Plan& plan, const Invocation& invocation);
/// Appends the options that repeat a plan. The server is included only under the real clock: under
/// the virtual clock all servers give the same result.
void append_repeated(std::vector<std::string>& words, const Plan& plan,
                     const Invocation& invocation, const Resolved& values);

}  // namespace rlctl::cli::trial
