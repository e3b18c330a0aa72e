#pragma once

#include "cli/app/command.h"
#include "cli/app/watch.h"
#include "cli/commands/list/listing.h"

namespace rlctl::cli {

/// Shows the first rows again and again, with the script calls a second and how much each key has
/// moved. The rows are read anew each time; the database is scanned again after a pause of many
/// times as long as that took, so that watching costs a server little. Ends as watch() does.
[[noreturn]] void watch_list(const ListPlan& plan, const Watch& how, Invocation& invocation);

}  // namespace rlctl::cli
