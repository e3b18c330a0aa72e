#pragma once

#include <string>
#include <vector>

#include "cli/trial/report.h"

// What a report says about leases and reservations.

namespace rlctl::cli::trial {

/// "5 leases of 30 s"
std::string leases_text(const Plan& plan);
/// "held for 2 s on average, 1 % die, renewed"
std::string holds_text(const Plan& plan);
/// "100 reserved for 5 s, settled with 50 to 150 after 1 s on average, 1 % die"
std::string reservations_text(const Plan& plan);

/// Whether a limiter of leases or reservations exceeded the limit or lost anything; the run must be
/// of one.
Verdict holders_verdict(const Report& report, const Run& run);
/// What was found, and what its reader should know.
std::vector<Remark> remarks_on_holders(const Report& report, const Run& run);

}  // namespace rlctl::cli::trial
