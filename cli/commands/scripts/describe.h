#pragma once

#include "cli/app/command.h"

namespace rlctl::cli::scripts {

/// `rlctl scripts describe FILE`: proposes a head for a script, from its source and from what it
/// replies on a private server, and says what could not be found out. Throws UsageError, and
/// InputError for a file that is not Lua.
ExitStatus describe_script(Invocation& invocation);

}  // namespace rlctl::cli::scripts
