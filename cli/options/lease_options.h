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
/// Makes a script one that is asked for leases. `file`: the script that releases them; `arguments`:
/// its ARGV instead of the same. Throws UsageError if nothing releases them.
void ask_for_leases(traffic::ForeignLimiter& script, const std::optional<std::string>& file,
                    const std::optional<std::string>& arguments);

}  // namespace rlctl::cli
