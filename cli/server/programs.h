#pragma once

#include <optional>
#include <string>

#include "adversary/schedule.h"
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

/// What to do about a program that denied the last request of a schedule, and allows it by a clock
/// of its own; std::nullopt if it denies it by each clock, and empty if it cannot be given one.
/// Throws what exec::ProgramDecider throws, but for exec::ProgramError.
std::optional<std::string> own_clock_hint(const script::Candidate& program,
                                          const exec::Settings& settings,
                                          const rlctl::adversary::Schedule& schedule);

}  // namespace rlctl::cli
