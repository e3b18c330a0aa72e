#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "traffic/script.h"

namespace rlctl::cli {

// What --lease, --release and --release-args of burst and lint say.

/// Throws UsageError.
std::chrono::microseconds parse_lease(const std::string& text);
/// Whether a script is told what a holder asks for.
bool tells_event(const traffic::ForeignLimiter& script);
/// Whether a limiter can be asked to renew a lease.
bool takes_renewals(const traffic::Candidate& candidate);
/// How coarse the clock of a limiter is: a script's or a program's at least 1 ms, which are the
/// steps of TTLs; 0 for a bundled one.
std::chrono::microseconds clock_tick_of(const traffic::Candidate& candidate);
/// Makes a script one that is asked for leases. `file`: the script that releases them; `arguments`:
/// its ARGV instead of the same. Throws UsageError if nothing releases them.
void ask_for_leases(traffic::ForeignLimiter& script, const std::optional<std::string>& file,
                    const std::optional<std::string>& arguments);

}  // namespace rlctl::cli
