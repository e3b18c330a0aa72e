#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "exec/clock.h"
#include "limiter/algorithm.h"
#include "script/script.h"

// --exec: limiters that are programs. burst and lint have it.

namespace rlctl::cli {

/// --exec and its related options, as typed.
struct ExecOptions {
  std::vector<std::string> programs = {};   ///< each with its arguments
  std::optional<exec::Clocks> clocks = {};  ///< --exec-clock
};

void add_exec_options(Options& options, ExecOptions& target);
/// Throws UsageError if --exec-clock is given, but no limiter is a program.
void require_programs(const Options& options, bool has_programs);

/// Gives a limiter whose name is also another's, or a bundled algorithm's, the name that was typed.
template <typename Limiters>
void make_names_differ(Limiters& limiters, const std::vector<std::string>& typed) {
  std::vector<std::string> names;
  for (const auto& limiter : limiters) names.push_back(limiter.name);
  for (std::size_t i = 0; i < limiters.size(); ++i) {
    const bool is_taken =
        std::ranges::count(names, names[i]) > 1 || limiter::find_algorithm(names[i]) != nullptr;
    if (is_taken) limiters[i].name = typed[i];
  }
}

/// The program of this text: the word that names a file, or the first, is its name. Throws
/// UsageError, which does not name the option.
script::ProgramLimiter parse_program(const std::string& text);
/// The programs of --exec, each once, and with names that differ. Throws UsageError.
std::vector<script::ProgramLimiter> parse_programs(const ExecOptions& options);

}  // namespace rlctl::cli
