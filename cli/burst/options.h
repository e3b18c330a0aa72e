#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/replay.h"
#include "cli/script_options.h"

namespace rlctl::cli {

/// The arguments of `rlctl burst`, as typed.
struct BurstOptions {
  std::vector<std::string> limits = {}, algorithms = {}, assertions = {};
  std::vector<std::string> keys = {};  ///< the number of keys, or key templates for the script
  ScriptOptions script = {};           ///< without its keys
  ReplayArguments replay = {};
  std::optional<std::string> burst, rate, duration, requests, key_skew, cost, seed;
  std::optional<std::string> clock, clients, pipeline;
  std::optional<std::string> budget, write;
  std::optional<std::string> svg, csv, jsonl;
  bool model = false, quiet = false;
};

void add_burst_options(Options& options, BurstOptions& target);
/// The sections of --help that list the patterns, the algorithms and more.
[[nodiscard]] std::string burst_notes();

}  // namespace rlctl::cli
