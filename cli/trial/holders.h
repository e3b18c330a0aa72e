#pragma once

#include "cli/options/options.h"
#include "cli/trial/plan.h"

// Limiters that are asked for leases or for reservations: the options, and what is asked of them.

namespace rlctl::cli::trial {

/// Declares --concurrency, which is returned, and --lease.
Option add_lease_options(Options& options, Plan& plan);
/// Declares --reserve, which is returned.
Option add_budget_options(Options& options, Plan& plan);
/// Sets what follows from --reserve and the time of the hold. Throws UsageError if that is too
/// short.
void complete_budget(Plan& plan);
/// Throws UsageError if a page is asked for, which shows windows and no holders.
void require_no_page(const Plan& plan);

/// Makes a script one that is asked for leases or for reservations, if the plan has holders. Throws
/// UsageError if nothing renews, releases or settles them, or if its clock is too coarse to tell
/// what is held.
void ask_as_holders(script::Candidate& candidate, const ScriptOptions& options, const Plan& plan);
/// What is held, and how this limiter is judged.
simulation::HoldRules hold_rules_of(const script::Candidate& candidate, const Plan& plan);

}  // namespace rlctl::cli::trial
