#pragma once

#include "cli/options/configuration.h"
#include "cli/options/exec_options.h"
#include "cli/server/connection.h"
#include "exec/program.h"

namespace rlctl::cli {

/// How the programs of --exec are asked: they have ten seconds for an answer, unless the user gives
/// another timeout. The interrupt must outlive the settings. Throws what resolve_connection()
/// throws.
exec::Settings program_settings(const ExecOptions& options, const ConnectionOptions& connection,
                                ConfigurationSource& configuration, const Interrupt& interrupt);

}  // namespace rlctl::cli
