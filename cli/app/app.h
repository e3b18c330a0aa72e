#pragma once

#include "base/json_object.h"

namespace rlctl::cli {

/// The object that `rlctl version --json` prints: its schema.
extern const JsonOutput kVersionJson;

/// Runs rlctl: finds the command, reads its options and runs it. Wipes passwords from argv. Reports
/// a failure on stderr, once. Returns the exit status; after a signal, the process dies by that
/// signal.
int run_command_line(int argc, char** argv);

}  // namespace rlctl::cli
