#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/burst/report.h"
#include "cli/options/options.h"
#include "traffic/holding.h"

namespace rlctl::cli::burst {

// Leases as traffic: what --concurrency and its options say, and what a run found.

void add_lease_options(Options& options, Plan& plan);
/// Throws UsageError for options that do not fit leases, or that only fit leases.
void require_lease_options(const Options& options, const Plan& plan);
/// Sets what follows from the options: the limit, and the traffic's own, which is that of --hold.
void set_leases(Plan& plan, const Options& options);
/// Makes a script one that is asked for leases. Throws UsageError if nothing releases or renews
/// them, or if its clock is too coarse to tell who holds.
void ask_for_leases(traffic::Candidate& candidate, const Plan& plan);

/// What the holders do, and how coarse this limiter's clock is.
traffic::HoldPlan hold_plan_of(const traffic::Candidate& candidate, const Plan& plan);

/// "5 leases of 30 s"
std::string leases_text(const Plan& plan);
/// "held for 2 s on average, 1 % die, renewed"
std::string holds_text(const Plan& plan);
HoldersVerdict lease_verdict(const Report& report, const Run& run);
/// What was found, and what its reader should know.
std::vector<Remark> remarks_on_leases(const Report& report, const Run& run);
/// An acquire, a renewal or a release as JSON: see append_decision_json().
void append_event_json(std::string& out, std::string_view run, std::int64_t number,
                       std::string_view key, const traffic::Arrival& arrival,
                       const limiter::Decision& decision);

}  // namespace rlctl::cli::burst
