#pragma once

#include "cli/app/command.h"
#include "cli/app/watch.h"
#include "cli/commands/list/listing.h"

namespace rlctl::cli {

/// Shows the first rows again and again. The rows are read anew each time; the database is scanned
/// again after a pause of many times as long as the last scan took, so that watching costs a server
/// little. Ends as watch() does.
[[noreturn]] void watch_list(const ListPlan& plan, const Watch& how, Invocation& invocation);

}  // namespace rlctl::cli
