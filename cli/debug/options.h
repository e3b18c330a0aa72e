#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/replay.h"

namespace rlctl::cli {

/// What follows `rlctl debug`, as it was typed.
struct DebugOptions {
  std::vector<std::string> limits = {}, keys = {};
  std::optional<std::string> burst, policy, cost, now, arguments;
  ReplayArguments replay = {};
  std::optional<std::string> skip;
  std::optional<std::string> lcov, max_steps, commands;
  bool attach = false, sync = false, yes = false;
  bool trace = false, coverage = false, redis_cli = false, print_command = false;
  bool quiet = false;
};

void add_debug_options(Options& options, DebugOptions& target);
/// The sections of --help that list scripts, placeholders and formats.
[[nodiscard]] std::string debug_notes();

}  // namespace rlctl::cli
