#pragma once

#include <string>

#include "adversary/leases.h"
#include "base/json.h"
#include "cli/commands/burst/report.h"
#include "cli/options/options.h"

namespace rlctl::cli::burst {

// `rlctl burst adversary --concurrency`: the search for schedules of acquires, renewals and
// releases, and its reports.

/// Throws UsageError for options that do not fit the search.
void require_lease_search(const Options& options, const Plan& plan);
/// Throws UsageError if the search cannot find anything, or would end too late.
void require_conclusive_leases(const Plan& plan);
adversary::LeaseSearchRequest lease_request_of(const traffic::Candidate& candidate,
                                               const Plan& plan);

/// The findings about each limiter, for people.
void append_lease_search(std::string& out, const Report& report, const Look& look);
void write_lease_findings(JsonWriter& json, const Plan& plan, const Run& run);
/// See append_steps_json().
void append_lease_steps_json(std::string& out, const Report& report);

}  // namespace rlctl::cli::burst
