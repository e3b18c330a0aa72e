#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/completions.h"
#include "cli/options/log_options.h"
#include "cli/options/options.h"
#include "cli/options/script_options.h"

namespace rlctl::cli {

/// The value of --algorithm for each algorithm that counts requests.
inline constexpr std::string_view kAllAlgorithms = "all";
/// The usual --limit. The schedules of a search are short enough to read with a small one, which
/// has the same flaws.
inline constexpr std::string_view kDefaultLimit = "1000/60s", kSearchLimit = "5/60s";
/// The values of --clock.
inline constexpr std::string_view kVirtual = "virtual", kReal = "real";
/// The --rate of a closed loop.
inline constexpr std::string_view kMaxRate = "max";

/// The arguments of `rlctl burst`, as typed.
struct BurstOptions {
  std::vector<std::string> limits = {}, algorithms = {}, assertions = {};
  std::vector<std::string> keys = {};  ///< the number of keys, or key templates for the script
  ScriptOptions script = {};           ///< without its keys
  ReplayArguments replay = {};
  std::optional<std::string> burst, rate, duration, requests, key_skew, cost, seed, start;
  std::optional<std::string> clock, clients, pipeline;
  std::optional<std::string> budget, exhaustive, tick, write;
  std::optional<std::string> svg, title, csv, jsonl, junit, against;
  bool model = false, quiet = false, refunds = false, no_stepping_back = false;
  bool is_search = false;  ///< rlctl burst adversary
};

void add_burst_options(Options& options, BurstOptions& target);
/// Throws UsageError for given options that cannot be used together.
void require_consistent(const Options& options, const BurstOptions& given);
/// The sections of --help that list the patterns, the algorithms and more.
[[nodiscard]] std::string burst_notes();
/// The patterns and `adversary`; with --replay, files.
[[nodiscard]] Completions complete_pattern(const Typed& typed);

}  // namespace rlctl::cli
