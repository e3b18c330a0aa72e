#pragma once

#include <string>

#include "cli/app/command.h"
#include "cli/commands/burst/data.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"

namespace rlctl::cli::burst {

// The command line of burst.

/// The default --limit. The schedules of a search are short enough to read with a small one, which
/// has the same flaws.
inline constexpr const char *kDefaultLimit = "1000/60s", *kSearchLimit = "5/60s";
/// The value of --algorithm for each algorithm that counts requests.
inline constexpr const char* kAllAlgorithms = "all";

/// Declares the options, which set the first part of the plan.
void add_options(Options& options, Plan& plan);
/// Throws UsageError for options that cannot be used together.
void require_consistent(const Options& options, const Plan& plan);
/// Sets the rest of the plan. Throws UsageError if it cannot run, before anything starts.
void complete_plan(Plan& plan, const Invocation& invocation);
/// The sections of --help that list the patterns, the algorithms and more.
[[nodiscard]] std::string notes();
/// The patterns and `adversary`; with --replay, files.
[[nodiscard]] Completions complete_pattern(const CompletionContext& typed);

}  // namespace rlctl::cli::burst
