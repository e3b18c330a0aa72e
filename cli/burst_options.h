#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/assertion.h"
#include "cli/burst_session.h"
#include "cli/command.h"
#include "cli/options.h"

namespace rlctl::cli {

/// What follows `rlctl burst`, as it was typed.
struct BurstOptions {
  std::vector<std::string> limits = {}, algorithms = {}, assertions = {};
  std::optional<std::string> burst, rate, duration, requests, keys, key_skew, cost, seed;
  std::optional<std::string> svg, csv, jsonl;
  bool model = false, quiet = false;
};

void add_burst_options(Options& options, BurstOptions& target);
/// The sections of --help that list the patterns and the algorithms.
[[nodiscard]] std::string burst_notes();

/// What they mean together with the operands. Throws UsageError where that cannot be run, so that
/// nothing is started for it.
[[nodiscard]] BurstPlan make_burst_plan(const BurstOptions& options, const Invocation& invocation);

}  // namespace rlctl::cli
