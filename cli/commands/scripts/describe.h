#pragma once

#include "cli/app/command.h"

namespace rlctl::cli::scripts {

/// `rlctl scripts describe FILE`: proposes a head for a script, from its source and from what it
/// replies on a private server, and says what could not be found out. Throws UsageError, and
/// InputError for a file that is not Lua.
ExitStatus describe_script(Invocation& invocation);
/// What it proposes, as JSON.
struct Proposal;
extern const JsonObject<Proposal> kProposalJson;

}  // namespace rlctl::cli::scripts
