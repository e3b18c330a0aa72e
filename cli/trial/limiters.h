#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "cli/trial/plan.h"

// The limiters on trial: the options that name them, what follows from these, and how the command
// that repeats the trial names them.

namespace rlctl::cli::trial {

/// Declares the options that describe the limiters; operands name them. `limit_help` must live as
/// long as the options.
void add_limiters(Options& options, Plan& plan, std::string_view limit_help);
/// Declares --seed.
Option add_seed(Options& options, Plan& plan);

/// Adds the limiter that an operand names: an algorithm, all that count requests, or a script,
/// which is not read. Throws UsageError for a word that names none; `patterns` are words that the
/// command takes, too.
void add_limiter(Plan& plan, const std::string& word, ConfigurationSource& configuration,
                 std::span<const std::string_view> patterns = {});
/// Whether an operand can only be a limiter, beside the files of a log: an algorithm, all, a name
/// in the configuration, or a file that ends in .lua.
bool is_limiter(const std::string& word, ConfigurationSource& configuration);
/// Throws UsageError for a word that stands for a file of a log, but names neither a file nor a
/// limiter: the name of a limiter may be misspelt.
void require_log_file(const std::string& word, ConfigurationSource& configuration);
/// The hints of burst and adversary about options that they do not have.
inline constexpr std::array kInstead{
    Instead{"--algorithm", "a limiter is an operand: write gcra, not --algorithm gcra"},
    Instead{"--script", "a limiter is an operand: write ./my.lua, not --script ./my.lua"}};
/// Limiters, as operands.
Completions complete_limiters(const CompletionContext& typed);

/// Sets the limit: that of leases, or those of --limit, or else that of the scripts, or
/// `if_not_given`.
void set_limits(Plan& plan, std::span<const NamedLimiter> scripts, const Options& given,
                const char* if_not_given);
/// Throws UsageError if the algorithms do not fit what they are asked for.
void require_algorithms(const Plan& plan);
/// Whether the user's own limiters take part.
bool names_others(const Plan& plan);
/// Whether a limiter is named, so that the default ones are not asked.
bool names_limiter(const Plan& plan);
/// Throws UsageError, which names the algorithm and the origin of the limit, the burst or the cost
/// that it does not take.
void require_taken(const limiter::Algorithm& algorithm, const limiter::Limit& limit,
                   std::int64_t cost, const LimitOrigins& origins);
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
/// Appends the limiters and the options that repeat a plan. The server is included if the plan has
/// one: scripts run in this process otherwise.
void append_repeated(std::vector<std::string>& words, const Plan& plan,
                     const Invocation& invocation, const Resolved& values);

}  // namespace rlctl::cli::trial
