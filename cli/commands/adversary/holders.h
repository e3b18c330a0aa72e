#pragma once

#include <string>
#include <vector>

#include "adversary/holdings.h"
#include "cli/trial/document.h"
#include "cli/trial/report.h"

namespace rlctl::cli::adversary {

// `rlctl adversary` with --concurrency or --reserve: the search for schedules of acquires,
// renewals and releases, or of reserves and settles, and its reports.

/// Throws UsageError for options that do not fit the search.
void require_holder_search(const trial::Plan& plan);
/// Throws UsageError if the search cannot find anything, or would end too late.
void require_conclusive_holders(const trial::Plan& plan);
rlctl::adversary::HoldingSearch holder_request_of(const script::Candidate& candidate,
                                                  const trial::Plan& plan);

/// The units that are held and spent after each event of a finding's schedule. `is_exact`: the
/// limiter is a bundled one.
std::vector<rlctl::adversary::HoldingStep> holder_steps_of(
    const rlctl::adversary::HoldingFinding& finding, const trial::Plan& plan, bool is_exact);

/// The section about a limiter whose leases or reservations were searched.
trial::Section holder_findings(const trial::Report& report, const trial::Run& run,
                               const script::Candidate& candidate);
/// The most steps of a schedule that a text shows.
inline constexpr std::size_t kMostSteps = 20;

}  // namespace rlctl::cli::adversary
