#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "exec/clock.h"
#include "traffic/script.h"

// --exec: limiters that are programs. burst and lint have it.

namespace rlctl::cli {

/// --exec and its related options, as typed.
struct ExecOptions {
  std::vector<std::string> programs = {};   ///< each with its arguments
  bool fresh = false;                       ///< --exec-fresh
  std::optional<exec::Clocks> clocks = {};  ///< --exec-clock
  bool on_all_cpus = false;                 ///< --exec-cpus all
};

void add_exec_options(Options& options, ExecOptions& target);
/// Throws UsageError if one of the options about programs is given, but no limiter is a program.
void require_programs(const Options& options, bool has_programs);

/// The program of this text: the word that names a file, or the first, is its name. Throws
/// UsageError, which does not name the option.
traffic::ProgramLimiter parse_program(const std::string& text);
/// The programs of --exec, each once, and with names that differ. Throws UsageError.
std::vector<traffic::ProgramLimiter> parse_programs(const ExecOptions& options);

}  // namespace rlctl::cli
