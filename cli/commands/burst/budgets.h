#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/burst/report.h"
#include "cli/options/options.h"
#include "traffic/spending.h"

namespace rlctl::cli::burst {

// Budgets as traffic: what --reserve and its options say, and what a run found.

void add_budget_options(Options& options, Plan& plan);
/// Throws UsageError for options that do not fit reservations, or that only fit them.
void require_budget_options(const Options& options, const Plan& plan);
/// Sets what follows from the options, and the algorithm.
void set_budget(Plan& plan, const Options& options);
/// Makes a script one that is asked for reservations. Throws UsageError if it is not told their
/// units, if nothing settles them, or if its clock is too coarse.
void ask_for_reservations(traffic::Candidate& candidate, const Plan& plan);

traffic::SpendRules spend_rules_of(const traffic::Candidate& candidate);

/// "100 reserved for 5 s, settled with 50 to 150 after 1 s on average, 1 % die"
std::string reservations_text(const Plan& plan);
HoldersVerdict budget_verdict(const Report& report, const Run& run);
/// What was found, and what its reader should know.
std::vector<Remark> remarks_on_budget(const Report& report, const Run& run);
/// A reserve or a settle as JSON: see append_decision_json().
void append_reservation_json(std::string& out, std::string_view run, std::int64_t number,
                             std::string_view key, const traffic::Arrival& arrival,
                             const limiter::Decision& decision);

}  // namespace rlctl::cli::burst
