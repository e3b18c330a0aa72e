#pragma once

#include <string>

#include "adversary/holdings.h"
#include "base/json.h"
#include "cli/commands/burst/report.h"
#include "cli/options/options.h"

namespace rlctl::cli::burst {

// `rlctl burst adversary` with --concurrency or --reserve: the search for schedules of acquires,
// renewals and releases, or of reserves and settles, and its reports.

/// Throws UsageError for options that do not fit the search.
void require_holder_search(const Options& options, const Plan& plan);
/// Throws UsageError if the search cannot find anything, or would end too late.
void require_conclusive_holders(const Plan& plan);
adversary::HoldingSearch holder_request_of(const traffic::Candidate& candidate, const Plan& plan);

/// The findings about each limiter, for people.
void append_holder_search(std::string& out, const Report& report, const Look& look);
void write_holder_findings(JsonWriter& json, const Plan& plan, const Run& run);
/// See append_steps_json().
void append_holder_steps_json(std::string& out, const Report& report);

}  // namespace rlctl::cli::burst
