#pragma once

#include <optional>
#include <string>

#include "cli/app/command.h"
#include "cli/commands/burst/report.h"
#include "traffic/script.h"

namespace rlctl::cli {

/// What the replies of a script suggest: that it returns nothing, or that --allowed-when does not
/// fit them. None if they look right, and for a bundled algorithm.
[[nodiscard]] std::optional<std::string> reply_hint(const BurstRun& run,
                                                    const traffic::Candidate& candidate);

/// Writes a run's hint to stderr, if it has one.
void warn_of_hint(const BurstRun& run, const Invocation& invocation);

}  // namespace rlctl::cli
