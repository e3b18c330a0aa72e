#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace rlctl::cli {

/// What follows `rlctl burst`, as it was typed.
struct BurstOptions {
  std::vector<std::string> limits = {}, algorithms = {}, assertions = {};
  std::optional<std::string> burst, rate, duration, requests, keys, key_skew, cost, seed;
  std::optional<std::string> clock, clients, pipeline;
  std::optional<std::string> svg, csv, jsonl;
  bool model = false, quiet = false;
};

void add_burst_options(Options& options, BurstOptions& target);
/// The sections of --help that list the patterns and the algorithms.
[[nodiscard]] std::string burst_notes();

}  // namespace rlctl::cli
