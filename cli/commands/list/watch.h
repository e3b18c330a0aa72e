#pragma once

#include "cli/app/command.h"
#include "cli/app/watch.h"
#include "cli/commands/list/listing.h"

namespace rlctl::cli::list {

/// Shows the first rows again and again. The rows are read anew each time; the database is scanned
/// again after a pause of many times as long as the last scan took, so that watching costs a server
/// little. Ends as watch() does.
[[noreturn]] void watch_rows(const Plan& plan, const Watch& how, Invocation& invocation);

}  // namespace rlctl::cli::list
